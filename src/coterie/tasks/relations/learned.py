"""Relations that are learned along with the task vectors (SRDV11), optionally with a constant mean step size.

Updates are in ``_compiled/primal/learned_relations.py`` and ``relation_updates.py``.

The columns of W are the task vectors w_i (d x K). A is a precision in the penalty ½ tr(W A W'), so updates are shared
by A⁻¹. Every relation starts at A_0 = I/K for the K tasks known at its first update (Algorithm 1), or at A_0 = I
(§5.3). At a mistake on task i

    w_j <- w_j + y (A_{s-1}⁻¹)_ji x    for all j                                                        (3.3)

and then A follows from W'W by one of (3.6) to (3.10). The relation gets W'W only, maintained by a rank-two change per
update, and never a weight. A later task is treated as one that was known from the start without updates.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, cast, runtime_checkable

import numpy as np

from coterie import spec
from coterie._compiled.primal import learned_relations as compiled
from coterie._compiled.primal import relation_updates as updates
from coterie._compiled.views.tasks import SpectralRelation, SpectralUpdate
from coterie.types import Matrix
from coterie.wording import warn

if TYPE_CHECKING:
    pass

#: A learned relation stores matrices with a row and a column for every task.
MOST_TASKS = 4000
#: The number of tasks from which on the cost is warned of.
MANY_TASKS = 1000
#: Priming with ``epoch="auto"`` first compares correlations after this many updates per task, then at each doubling,
FIRST_LOOK = 4
#: and ends when the correlations of the task vectors changed by less than this part of their norm since the last look.
SETTLED = 0.5

_ETA = spec.Setting(above=0, qualify_name=True)
_RIDGE = spec.Setting(above=0, qualify_name=True)
_POWER = spec.Setting(at_least=1, qualify_name=True)
_WEIGHTS = spec.Setting(kind="text", choices=("previous", "new"), qualify_name=True)
_ROLE = spec.Setting(kind="text", choices=("A", "Ainv"), qualify_name=True)
_START = spec.Setting(kind="text", choices=("unit_trace", "identity"), qualify_name=True)
Start = Literal["unit_trace", "identity"]


class TooManyTasksError(ValueError):
    """Error for more tasks than a learned relation supports: its matrix has a row and a column per task."""

    def __init__(self, relation: object, n_tasks: int) -> None:
        super().__init__(
            f"{type(relation).__name__} stores a matrix of all pairs of tasks and supports at most {MOST_TASKS} tasks, "
            f"got {n_tasks}: for more use a relation of groups (MeanRegularized, Clusters, Hierarchy)"
        )
        self.most = MOST_TASKS
        self._arguments = relation, n_tasks

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), self._arguments  # another process may raise it


class LearnedRelation(ABC):
    """Base class of relations that are learned: A⁻¹ is computed from the products W'W of the task vectors.

    A is the K x K interaction matrix of the tasks; the columns of W are the task vectors.

    ``kind`` is its compiled state; ``definite`` is True if A⁻¹ always has an inverse.
    """

    form: ClassVar[str] = "learned"
    kind: ClassVar[type[compiled.Relation]] = compiled.Relation
    remedy: ClassVar[str]
    needs_features: ClassVar[bool] = False
    definite: ClassVar[bool] = True
    step_norm: bool
    weights: str
    start: str

    @abstractmethod
    def relation_update(self, n_tasks: int, features: int) -> updates.RelationUpdate:
        """Return the compiled update of A⁻¹ for ``n_tasks`` tasks and this many ``features``."""

    def first(self, n_tasks: int) -> float:
        """Return the diagonal entry of A_0⁻¹, the initial A⁻¹, for this many tasks."""
        # the inverse of I/K (Algorithm 1), which has unit trace
        return 1.0 if self.start == "identity" else float(max(n_tasks, 1))

    def check_size(self, n_tasks: int, before: int | None = None) -> None:
        """Raise TooManyTasksError if there are too many tasks.

        Warn of the cost when their number, formerly ``before``, becomes large.
        """
        if n_tasks > MOST_TASKS:
            raise TooManyTasksError(self, n_tasks)
        if before is not None and before < MANY_TASKS <= n_tasks:
            warn(
                f"{type(self).__name__} revises a matrix of all pairs of tasks at each mistake, {n_tasks**2:,} numbers "
                f"for the {n_tasks:,} tasks there are now, and refuses more than {MOST_TASKS:,}: a relation of groups "
                "(MeanRegularized, Clusters, Hierarchy) costs the same for any number of tasks"
            )

    def begin(self, tasks: Sequence[Hashable], features: int, length: int | None) -> compiled.Relation:
        """Return the initial state for these tasks and this many features.

        ``length`` is the expected number of rounds, None if unknown.
        """
        self.check_size(len(tasks), before=0)
        return self.begin_at(tasks, features, compiled.FromRound.begin(1.0))

    def blank(self) -> compiled.Relation:
        """Return a state without tasks, which has the same types in compiled code as all later states."""
        return self.begin_at((), 1, compiled.FromRound.begin(1.0))

    def begin_at(
        self, tasks: Sequence[Hashable], features: int, start: compiled.FromRound | compiled.WhenSettled
    ) -> compiled.Relation:
        """Return the initial state for these tasks and this many features.

        ``start`` decides from when on A is updated.
        """
        # updates are shared by K^e A⁻¹ / tr A⁻¹, whose mean diagonal K^(e - 1) is that of A_0⁻¹: 1 or K
        mean_step = (1 if self.start == "identity" else 2) if self.step_norm else 0
        update, first = self.relation_update(len(tasks), features), self.first(len(tasks))
        return self.kind.begin(update, int(self.weights == "new"), mean_step, start, len(tasks), first)

    def resize(self, state: compiled.Relation, tasks: Sequence[Hashable], features: int) -> compiled.Relation:
        """Return the state enlarged for all ``tasks``, the old ones first, and for this many features."""
        self.check_size(len(tasks), before=len(state.inverse))
        return state.resized(len(tasks), features, self.first(len(tasks)))


@dataclass(frozen=True, eq=False, repr=False)
class _Rated(LearnedRelation):
    """Base class of learned relations that have a learning rate ``eta``."""

    eta: float = spec.field(_ETA)
    step_norm: bool = spec.field(default=False, qualify_name=True)
    weights: Literal["previous", "new"] = spec.field(_WEIGHTS, default="previous")
    trace_norm: bool = spec.field(default=False, qualify_name=True)
    role: Literal["A", "Ainv"] = spec.field(_ROLE, default="A")
    start: Start = spec.field(_START, default="unit_trace")

    remedy: ClassVar[str] = "take a smaller eta, a longer priming or step_norm=True"


@dataclass(frozen=True, eq=False, repr=False)
class _Ridged(LearnedRelation):
    """Base class of learned relations that add the number ``ridge`` to the diagonal of A."""

    ridge: float = spec.field(_RIDGE)
    step_norm: bool = spec.field(default=False, qualify_name=True)
    weights: Literal["previous", "new"] = spec.field(_WEIGHTS, default="previous")
    role: Literal["A", "Ainv"] = spec.field(_ROLE, default="A")
    start: Start = spec.field(_START, default="unit_trace")


@spec.part
class LogDet(_Rated):
    """LogDet relation: A_s = (A_{s-1}⁻¹ + eta W'W)⁻¹ (SRDV11 eq. 3.7, OMTLLOG).

    A_s is the K x K interaction matrix of the K tasks after mistake s, and W the matrix with the task vectors as
    columns. An update of task i changes task j by (A_s⁻¹)_ji.

    Tasks with similar vectors learn to share; those with opposite vectors share with the sign reversed.
    O(K·nnz + K²) per mistake, nothing is inverted; O(K·nnz + K³) with ``role="Ainv"``.

    Parameters
    ----------
    eta : float > 0
        The rate. x -> c·x together with eta -> eta/c² changes nothing. 1e-3 to 1e-2 suits records of length one with
        ``step_norm=True``; without it steps grow with A⁻¹, and only small rates are stable
        (roughly eta · mistakes · λ_max(W'W) <= K).
    step_norm : bool, default=False
        Update with K² A⁻¹ / tr A⁻¹ (with K A⁻¹ / tr A⁻¹ for ``start="identity"``), so that the mean step stays as at
        the start. Not in the paper; stable for any eta.
    weights : {"previous", "new"}, default="previous"
        The weights of the relation's update: those before the mistake (W_{s-1}, as in the paper) or after it (W_s).
    trace_norm : bool, default=False
        Divide A by its trace after every update, O(K³). The paper claims unit trace without this.
    role : {"A", "Ainv"}, default="A"
        The matrix that follows the equation. With A, as in the paper, updates are shared by its inverse, which grows.
        With A⁻¹ they are shared by the matrix itself, which shrinks along the task vectors: steps become smaller and
        stable for any eta, and tasks with similar vectors push each other apart.
    start : {"unit_trace", "identity"}, default="unit_trace"
        A_0 = I/K, as in Algorithm 1, or A_0 = I, as in §5.3. With ``role="A"``, eta and I/K predict the same labels as
        K·eta and I.

    Raises
    ------
    ValueError
        If eta is not positive or a choice is unknown; from a learner, for more than 4000 tasks.

    Warns
    -----
    UserWarning
        At 1000 tasks, about the cost of a mistake.
    RuntimeWarning
        Once, if an update would bring A⁻¹ to a million times its start; such updates are skipped.

    Examples
    --------
    >>> LogDet(eta=1e-3, step_norm=True)
    LogDet(eta=0.001, step_norm=True, weights='previous', trace_norm=False, role='A', start='unit_trace')
    """

    def relation_update(self, n_tasks: int, features: int) -> updates.RelationUpdate:
        if self.role == "Ainv":
            # an update of A⁻¹ instead of A is not of rank one, so it uses eigenvalues
            return _by_divergence(self, updates.Beta(0.0), n_tasks)
        return updates.LogDetUpdate(float(self.eta), int(self.trace_norm))


@spec.part
class VonNeumann(_Rated):
    """Von Neumann relation: A_s = exp(log A_{s-1} - eta W'W) (SRDV11 eq. 3.8, OMTLVON).

    A_s is the K x K interaction matrix of the K tasks after mistake s, and W the matrix with the task vectors as
    columns. An update of task i changes task j by (A_s⁻¹)_ji.

    The state is log A, so no matrix logarithm is computed. A mistake needs one column of exp(-log A), computed by
    Lanczos' process in O(K²) per step; with ``step_norm`` or ``trace_norm`` all eigenvalues, O(K³).

    Parameters
    ----------
    eta, step_norm, weights, trace_norm, role, start
        See :class:`LogDet`; for the same effect eta is about K times smaller, 1e-5 to 1e-4. With ``trace_norm`` it is
        the matrix exponentiated gradient of Tsuda et al. With ``role="A"``, eta and I/K predict the same
        labels as K²·eta and I.

    Raises
    ------
    ValueError
        If eta is not positive or a choice is unknown; from a learner, for more than 4000 tasks.

    Examples
    --------
    >>> VonNeumann(eta=1e-4)
    VonNeumann(eta=0.0001, step_norm=False, weights='previous', trace_norm=False, role='A', start='unit_trace')
    """

    def relation_update(self, n_tasks: int, features: int) -> updates.RelationUpdate:
        if self.role == "Ainv":
            # exp(+log) instead of exp(-log): Lanczos' column form is for A⁻¹ = exp(-log A) only
            return _by_divergence(self, updates.Beta(1.0), n_tasks)
        return updates.VonNeumannUpdate.begin(float(self.eta), int(self.trace_norm), n_tasks, self.first(n_tasks))


class DivergencePart(Protocol):
    """Interface of Bregman divergences between positive definite matrices, for :class:`Bregman`.

    They depend on the eigenvalues only.
    """

    def compiled(self) -> updates.Divergence:
        """Return the divergence as a named tuple for compiled code."""


@spec.part
class BetaDivergence:
    """Beta divergence, which includes LogDet and von Neumann: f(a) = (a^(beta - 1) - 1) / (beta - 1).

    a is an eigenvalue of the interaction matrix A, and W has the task vectors as columns.

    f is the gradient of the function that generates the divergence: 1 - 1/a for beta = 0 (LogDet), and log a in the
    limit of beta = 1 (von Neumann). With :class:`Bregman`, A⁻¹ grows as the power 1 / (1 - beta) of Σ W'W.

    Parameters
    ----------
    beta : float in [0, 1]
        0 for LogDet, 1 for von Neumann.

    Raises
    ------
    ValueError
        If beta is outside its range.

    Examples
    --------
    >>> BetaDivergence(0.5)
    BetaDivergence(beta=0.5)
    """

    beta: float = spec.field(at_least=0, at_most=1, qualify_name=True)

    def compiled(self) -> updates.Beta:
        """Return the divergence as a named tuple for compiled code."""
        return updates.Beta(float(self.beta))


@dataclass(frozen=True, eq=False, repr=False)
class _Diverging:
    """Base class with the parameter ``divergence`` of :class:`Bregman`."""

    divergence: DivergencePart


@spec.part
class Bregman(_Rated, _Diverging):
    """Relation by a Bregman divergence: A_s = f⁻¹(f(A_{s-1}) - eta W'W), f the generator's gradient (SRDV11 eq. 3.6).

    A_s is the K x K interaction matrix of the K tasks after mistake s, W the matrix with the task vectors as columns,
    and eta the learning rate. An update of task i changes task j by (A_s⁻¹)_ji.

    :class:`LogDet` and :class:`VonNeumann` are two of these, in forms that cost less. O(K·nnz + K³) per mistake, for
    the eigenvalues of f(A).

    Parameters
    ----------
    divergence : BetaDivergence, or a part with a method ``compiled``
        The divergence. ``compiled`` returns a named tuple that derives from ``Divergence`` of
        :mod:`coterie._compiled.primal.relation_updates` and has bodies of ``gradient`` and ``inverse_gradient``.
    eta, step_norm, weights, trace_norm, role, start
        See :class:`LogDet`.

    Raises
    ------
    ValueError
        If eta is not positive, a choice is unknown, or ``divergence`` is not a divergence; from a learner, for more
        than 4000 tasks.

    Examples
    --------
    >>> Bregman(BetaDivergence(0.5), eta=1e-4).divergence
    BetaDivergence(beta=0.5)
    """

    def __post_init__(self) -> None:
        if isinstance(self.divergence, type) or not callable(getattr(self.divergence, "compiled", None)):
            raise ValueError(f"Bregman takes a divergence, such as BetaDivergence(0.5), got {self.divergence!r}")

    def relation_update(self, n_tasks: int, features: int) -> updates.RelationUpdate:
        return _by_divergence(self, self.divergence.compiled(), n_tasks)


def _by_divergence(
    relation: LogDet | VonNeumann | Bregman, divergence: updates.Divergence, n_tasks: int
) -> updates.RelationUpdate:
    """Return the compiled update of ``relation`` by ``divergence`` for this many tasks.

    It updates A, or A⁻¹ if ``role="Ainv"``.
    """
    # the exponent that gives M for the updated matrix
    power = 1 if relation.role == "Ainv" else -1
    first = relation.first(n_tasks)
    return updates.DivergenceUpdate.begin(
        float(relation.eta), divergence, int(relation.trace_norm), power, n_tasks, first
    )


@spec.part
class Covariance(_Ridged):
    """Covariance relation: A_s = cov(W) + ridge I, with the features as observations (SRDV11 eq. 3.9, OMTLCOV).

    A_s is the K x K interaction matrix of the K tasks after mistake s, and cov(W) the covariance of the task vectors,
    the columns of W. An update of task i changes task j by (A_s⁻¹)_ji.

    The penalty uses A as a precision, so with the equation of the paper tasks with similar vectors push each other
    apart; ``role="Ainv"`` shares by the covariance itself. O(K·nnz + K²) per mistake, by Woodbury's identity; with more
    tasks than features O(K³) at those where it would lose digits.

    Parameters
    ----------
    ridge : float > 0
        Added to the diagonal; without it A would be singular until every task has been updated.
    step_norm, weights
        See :class:`LogDet`; with ``role="Ainv"`` the weights are finite only with ``step_norm``.
    role : {"A", "Ainv"}, default="A"
        The matrix that is cov(W) + ridge I: A, as in the paper, or A⁻¹.
    start : {"unit_trace", "identity"}, default="unit_trace"
        A_0 = I/K or A_0 = I, as in :class:`LogDet`.

    Raises
    ------
    ValueError
        If the ridge is not positive or a choice is unknown; from a learner, for more than 4000 tasks.

    Examples
    --------
    >>> Covariance(ridge=0.01, step_norm=True, role="Ainv")
    Covariance(ridge=0.01, step_norm=True, weights='previous', role='Ainv', start='unit_trace')
    """

    needs_features: ClassVar[bool] = True
    remedy: ClassVar[str] = "take step_norm=True or role='A'"

    def relation_update(self, n_tasks: int, features: int) -> updates.RelationUpdate:
        if self.role == "Ainv":
            # as A⁻¹ the covariance is used as it is; as A it is inverted by Woodbury's identity
            return updates.CovarianceUpdate.begin(float(self.ridge), features)
        return updates.PrecisionUpdate.begin(float(self.ridge), features, n_tasks)


@spec.part
class BatchOptimal(_Ridged):
    """Relation A_s = (W'W)^(1/2) / tr (W'W)^(1/2) + ridge I, the batch optimum (SRDV11 eq. 3.10, BATCHOPT).

    A_s is the K x K interaction matrix of the K tasks after mistake s, and W the matrix with the task vectors as
    columns. An update of task i changes task j by (A_s⁻¹)_ji.

    One eigendecomposition per mistake, O(K³). While W is zero A does not change.

    Parameters
    ----------
    ridge : float > 0
        Added to the diagonal.
    step_norm, weights, role, start
        See :class:`Covariance`.

    Raises
    ------
    ValueError
        If the ridge is not positive or a choice is unknown; from a learner, for more than 4000 tasks.

    Examples
    --------
    >>> BatchOptimal(ridge=0.1)
    BatchOptimal(ridge=0.1, step_norm=False, weights='previous', role='A', start='unit_trace')
    """

    remedy: ClassVar[str] = "take records of smaller length"

    def relation_update(self, n_tasks: int, features: int) -> updates.RelationUpdate:
        return updates.RootUpdate(float(self.ridge), 1 if self.role == "Ainv" else -1)


@spec.part
class Spectral(LearnedRelation):
    """Spectral relation: W = V (V'V)^(p-1) Tr((V'V)^p)^(1/p-1), V the sums of each task's own updates (CCG08 §7).

    W has the K task vectors by which the model predicts as columns, and M is the K x K matrix by which updates are
    shared.

    It is the matrix Perceptron with tasks as views, W = ∇ ½‖V‖²_S2p of the Schatten norm. A mistake updates one column
    of V; W = V M with M = Tr(G^p)^(1/p-1) G^(p-1), G = V'V, so all tasks change. Common directions of tasks have larger
    weights: it suits many tasks in a few unknown directions. There is no rate: x -> c·x changes no decision, up to
    rounding, unless squares overflow. A prediction costs O(K·nnz), a mistake O(K·nnz + K²) for p = 1 and p = 2, and
    O(K·nnz + K³) for others.

    Parameters
    ----------
    p : float >= 1, default=2.0
        1 is independent tasks; larger values prefer the directions that most tasks share.

    Raises
    ------
    ValueError
        If p is below 1 or not finite; from a learner, for more than 4000 tasks.

    Notes
    -----
    The mistake bound is :func:`coterie.evaluation.bounds.view_bounds.spectral_bound`. The journal version (Cavallanti,
    Cesa-Bianchi, Gentile, JMLR 11, 2010) also has the bound for several views.

    Examples
    --------
    >>> Spectral()
    Spectral(p=2.0)
    """

    p: float = spec.field(_POWER, default=2.0)

    kind: ClassVar[type[compiled.Relation]] = SpectralRelation
    definite: ClassVar[bool] = False
    remedy: ClassVar[str] = "take records of smaller length"

    step_norm = False
    weights = "new"
    start = "identity"

    def relation_update(self, n_tasks: int, features: int) -> updates.RelationUpdate:
        return SpectralUpdate.begin(float(self.p), n_tasks)


def matrix_of(state: compiled.Relation) -> Matrix:
    """Return the matrix by which the next update is shared, shape (K, K).

    It is A⁻¹ of the learned ``state``, scaled if ``step_norm``.
    """
    return np.asarray(compiled.current(state))


# -- priming -----------------------------------------------------------------------------------------------------------


@runtime_checkable
class RelationPart(Protocol):
    """Interface of all relations; ``form`` names the representation of M.

    M = A⁻¹ is the inverse of the tasks' interaction matrix.

    ``"levels"`` and ``"repelling levels"`` are those of :class:`coterie.tasks.relations.levels.LevelRelation`,
    ``"columns"`` of :class:`coterie.tasks.relations.interaction.ColumnRelation`, ``"learned"`` of
    :class:`LearnedRelation`.
    """

    @property
    def form(self) -> str: ...


@spec.part
class Primed:
    """Independent tasks until round ``epoch``, then another relation (SRDV11 Algorithm 1).

    A is the interaction matrix of the tasks, by whose inverse updates are shared, and EPOCH the round in which the
    first stage ends.

    Parameters
    ----------
    relation : relation
        A learned relation, whose A is updated at mistakes in rounds t >= EPOCH; or a fixed one such as
        :class:`HalfUpdate`, whose A replaces A_0 at the first mistake of those rounds.
    epoch : float in [0, 1], int >= 0 or "auto"
        A fraction of the stream, if its length is known (fit with all its passes, progressive validation on arrays); a
        number of rounds, counted from 1; or "auto". "auto" compares the correlations of the task vectors after 4
        updates per task and at each doubling, and ends when they have changed by less than half of their norm.
    every : int >= 1, optional
        Update A after every ``every`` rounds from EPOCH on, not at mistakes. With the number of records this is once
        per pass, as in §5.4: tasks are independent in the first pass, and each further pass uses the A of the weights
        at its start. Not with ``epoch="auto"``.

    Raises
    ------
    ValueError
        If epoch or every is outside its range; from a learner, if epoch is a fraction and the length of the stream is
        unknown, or if epoch is after the end of the stream.

    Examples
    --------
    >>> from coterie.tasks import HalfUpdate, LogDet
    >>> Primed(LogDet(eta=1e-3, step_norm=True), epoch=0.05).epoch
    0.05
    >>> Primed(HalfUpdate(), epoch=1000)
    Primed(relation=HalfUpdate(), epoch=1000)
    """

    relation: RelationPart
    epoch: float | int | Literal["auto"]
    every: int | None = None

    form: ClassVar[str] = "learned"

    def __post_init__(self) -> None:
        if isinstance(self.relation, Primed) or not isinstance(self.relation, RelationPart):
            raise ValueError(f"Primed requires a relation that is not Primed, got {self.relation!r}")
        epoch: object = self.epoch
        whole = type(epoch) is not bool and isinstance(epoch, (int, np.integer)) and epoch >= 0
        if not (
            whole or (isinstance(epoch, float) and 0 <= epoch <= 1) or (isinstance(epoch, str) and epoch == "auto")
        ):
            raise ValueError(
                "epoch must be a fraction of the stream from 0.0 to 1.0, a whole number of rounds of 0 or more, "
                f"or 'auto', got {epoch!r}"
            )
        if self.every is not None:
            spec.check_count("every", self.every)
            if self.epoch == "auto":
                raise ValueError("every requires an epoch in rounds or as a fraction, got epoch='auto'")

    @property
    def remedy(self) -> str:
        """The advice that ends the error message for an A⁻¹ that has become too large."""
        return str(self._inner.remedy)

    @property
    def needs_features(self) -> bool:
        """True if the relation is learned from feature weights, which kernels do not have."""
        return self._inner.needs_features

    @property
    def definite(self) -> bool:
        """True if M, by which updates are shared, is always invertible."""
        return self._inner.definite

    def check_size(self, n_tasks: int) -> None:
        """Raise TooManyTasksError if there are more tasks than the relation supports."""
        self._inner.check_size(n_tasks)

    def first(self, n_tasks: int) -> float:
        """Return the diagonal entry of A_0⁻¹, the initial A⁻¹, for this many tasks."""
        return self._inner.first(n_tasks)

    def begin(self, tasks: Sequence[Hashable], features: int, length: int | None) -> compiled.Relation:
        """Return the initial state for these tasks and this many features.

        ``length`` is the expected number of rounds, None if unknown.
        """
        self._inner.check_size(len(tasks), before=0)
        first = 1.0 if isinstance(self.epoch, str) else _epoch_rounds(self.epoch, length)
        return self._inner.begin_at(tasks, features, self._start(len(tasks), first))

    def blank(self) -> compiled.Relation:
        """Return a state without tasks, which has the same types in compiled code as all later states."""
        return self._inner.begin_at((), 1, self._start(0, 1.0))

    def resize(self, state: compiled.Relation, tasks: Sequence[Hashable], features: int) -> compiled.Relation:
        """Return the state enlarged for all ``tasks``, the old ones first, and for this many features."""
        larger = self._inner.resize(state, tasks, features)
        if self.epoch == "auto":
            # the first check is after 4 updates per task known at that time
            larger.start.move_first_look(FIRST_LOOK * len(state.inverse), FIRST_LOOK * len(tasks))
        return larger

    @property
    def _inner(self) -> LearnedRelation:
        if self.relation.form == "learned":
            return cast(LearnedRelation, self.relation)
        return _FixedRelation(self.relation)

    def _start(self, n_tasks: int, first: float) -> compiled.WhenSettled | compiled.FromRound:
        if isinstance(self.epoch, str):
            return compiled.WhenSettled.begin(n_tasks, FIRST_LOOK * n_tasks, SETTLED)
        return compiled.FromRound.begin(first, self.every or 0)


def _epoch_rounds(epoch: float | int, length: int | None) -> float:
    """Convert ``epoch`` to a number of rounds of a stream of ``length`` records.

    Raise ValueError for a fraction if that is unknown.
    """
    if isinstance(epoch, float):
        if length is None:
            raise ValueError(
                f"epoch={epoch!r} is a fraction, but the length of the stream is unknown; pass a number of rounds "
                "or epoch='auto'"
            )
        return epoch * length
    # tasks would stay independent to the end without notice
    if length is not None and epoch > length:
        raise ValueError(f"epoch={epoch!r} is beyond the end of the stream, which has {length} rounds")
    return float(epoch)


class _FixedRelation(LearnedRelation):
    """A wrapper that gives a fixed relation the interface of a learned one, for :class:`Primed`."""

    step_norm = False
    weights = "previous"
    start = "unit_trace"
    remedy = ""

    def __init__(self, relation: Any) -> None:
        self.relation = relation

    def relation_update(self, n_tasks: int, features: int) -> updates.RelationUpdate:
        return updates.FixedUpdate(np.zeros((n_tasks, n_tasks)))

    def begin_at(
        self, tasks: Sequence[Hashable], features: int, start: compiled.FromRound | compiled.WhenSettled
    ) -> compiled.Relation:
        return self._aimed(super().begin_at(tasks, features, start), tasks)

    def resize(self, state: compiled.Relation, tasks: Sequence[Hashable], features: int) -> compiled.Relation:
        return self._aimed(super().resize(state, tasks, features), tasks)

    def _aimed(self, state: compiled.Relation, tasks: Sequence[Hashable]) -> compiled.Relation:
        target = np.array(self.relation.relation_matrix(list(tasks)))
        # A was switched to the target already, and a task that comes later has to get its row there
        if state.status[2]:
            state.inverse[:] = target
        return state._replace(update=updates.FixedUpdate(target))
