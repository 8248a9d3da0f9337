"""Multi-view learners, which combine a norm over the views, an update rule, and weights or support vectors.

They implement :mod:`coterie.models.contract` for records that all belong to one task. An absent view adds nothing to
the margin and is not updated.
"""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec
import numpy as np
from numpy.typing import NDArray

from coterie import spec
from coterie._compiled.core.arrays import Dropped
from coterie._compiled.core.checks import MOST_FEATURES, require
from coterie._compiled.core.points import Kernel, PlainProduct, Points
from coterie._compiled.core.records import Csr, place_unseen
from coterie._compiled.primal.step_rules import MistakeStep, ShortestStep
from coterie._compiled.primal.stream import Moves
from coterie._compiled.trees import Arrays, flatten, rebuild, require_held
from coterie._compiled.views import dual_loop as dual
from coterie._compiled.views import rounds as primal
from coterie._compiled.views.forms import ViewRows, as_form, cut
from coterie._compiled.views.norm_potentials import FeatureSet, Spectral, accumulate_factor, pair
from coterie.kernels import Function
from coterie.models.contract import (
    BaseLearner,
    Batch,
    Capabilities,
    Features,
    InputShape,
    LearnerState,
    Margins,
    Predictions,
    RoundCount,
    UpdateResult,
)
from coterie.models.linear_learner import result_of
from coterie.models.state import nbytes_of
from coterie.tasks.index import Index
from coterie.types import Json, Part, Tree
from coterie.updates.potentials import PNorm
from coterie.updates.rules import Rule

from .norms import Norm, SpectralNorm, exponent_of
from .view_records import ViewRecords

#: The maximum and the minimum number of records of a block in the dual form, and the maximum number of kernel values.
MOST, FEWEST, VALUES = 128, 8, 2**23
#: The relative rounding error allowed in the check that products of views are positive semidefinite.
SLACK = 1e-6


@dataclass
class ViewState:
    """The state of a multi-view learner: arrays of the model, and the names and numbers of features of the views."""

    model: Tree
    names: list[Hashable]
    widths: tuple[int, ...]
    dense: bool
    kernels: Sequence[Kernel] = ()
    rounds: int = 0

    @property
    def features(self) -> int:
        """The total number of features of all views."""
        return sum(self.widths)

    @property
    def nbytes(self) -> int:
        """The memory of the arrays in bytes."""
        return nbytes_of(self.model)


class _Saved(msgspec.Struct):
    """Saved data of :meth:`_NormLearner.dump`, without the arrays."""

    shape: Json
    widths: list[Features]
    dense: bool
    rounds: RoundCount


class ViewRound(BaseLearner):
    """Base class of learners of records with several views, which belong to a single task.

    Rows are :class:`~coterie.models.multiview.ViewRecords`; in files the names of the views take the place of tasks.
    """

    traits = Capabilities(
        has_tasks=False,
        cannot_drop="records with several views have no tasks that could be forgotten",
        cannot_bound="max_tasks is not supported with this learner, which cannot drop tasks",
    )

    @abstractmethod
    def score(self, state: LearnerState, records: ViewRecords) -> Margins:
        """Return the margins of records."""

    @abstractmethod
    def _learn(self, state: LearnerState, records: ViewRecords, y: Margins) -> Moves:
        """Predict all records, and learn one of them for each label in y."""

    def refuse(self, state: LearnerState, tasks: Sequence[Hashable]) -> None:
        """Do nothing: there is a single task."""

    def drop(self, state: LearnerState, dropped: Dropped, tasks: Sequence[Hashable]) -> None:
        """Do nothing: there is a single task, which cannot be dropped."""

    def predict(self, state: LearnerState, batch: Batch) -> Predictions:
        """Return the predictions of a batch without changing the state."""
        return Predictions(self.score(state, batch.rows))

    def learn(self, state: LearnerState, batch: Batch, y: Margins) -> UpdateResult:
        """Predict and learn records; see :meth:`coterie.models.contract.BaseLearner.learn`.

        Raises
        ------
        ValueError
            If a kernel's values are not finite; nothing is learned.
        """
        return result_of(self._learn(state, batch.rows, y), batch, len(y))

    def weights(self, state: LearnerState) -> list[NDArray[np.float64]]:
        """Return the current weights, the views' weights one after the other.

        Raises
        ------
        AttributeError
            With kernels, because features then have no weights.
        """
        raise AttributeError("a kernel model has support vectors and no weights of features")

    def relation_matrix(self, state: LearnerState, among: Sequence[int] | None = None) -> NDArray[np.float64]:
        """Return [[1]], the matrix A⁻¹ of the single task."""
        return np.ones((1, 1))

    def share(self, state: LearnerState) -> NDArray[np.float64]:
        """Return 0, the share of the single task."""
        return np.zeros(1)


class _NormLearner(ViewRound):
    """Base class of multi-view learners that combine the views by a norm."""

    def __init__(self, norm: Norm, rule: Part, average: bool) -> None:
        self.norm = norm
        self._rule, self._mean = compiled_rule(rule), int(average)
        if not norm.compiled and not isinstance(self._rule, MistakeStep):
            raise ValueError(f"a gauge requires rule=Perceptron(), got {rule!r}")
        self.traits = replace(self.traits, can_refuse=not norm.compiled)  # the gradient of a gauge may be refused

    def _rank(self, widths: Sequence[int]) -> int:
        """Return the number of singular values of V for views with these numbers of features.

        V has one column per view, the sum of its updates.
        """
        return self.norm.rank(tuple(widths))

    def _reshape(self, state: ViewState, widths: Sequence[int]) -> None:
        """Resize the state for views with new numbers of features, ``widths``; on an error it is unchanged."""
        r, potential = self._rank(widths), state.model.potential
        if r == self._rank(state.widths):
            return
        if isinstance(self.norm, SpectralNorm):
            factor = potential.shaped(self.norm.gradient, r)
        elif exponent_of(self.norm.p, r) != potential.p:
            potential = potential._replace(p=exponent_of(self.norm.p, r))
            factor = Spectral(*potential).shaped(PNorm(2.0 * potential.p).gradient, r)
        else:
            return
        accumulate_factor(potential)
        potential.factor[:] = factor
        state.model = state.model._replace(potential=potential)

    def skip(self, state: ViewState, rounds: int) -> None:
        """Count ``rounds`` rounds without labels, which the mean of the weights includes."""
        state.model.potential.clock[0] += rounds
        state.rounds += rounds

    def dump(self, state: ViewState) -> tuple[Json, Arrays]:
        """Return the state as plain JSON data and named arrays."""
        shape, arrays = flatten(require_held(state.model.to_saved(state.widths)))
        saved = {"shape": shape, "widths": list(state.widths), "dense": state.dense}
        return saved | {"rounds": state.rounds}, arrays

    def restore(self, data: Json, arrays: Arrays, tasks: Index) -> ViewState:
        """Restore a state from the result of :meth:`dump`; ``index`` has the names of the views.

        Raises
        ------
        ValueError
            If the data do not fit together.
        """
        saved, names = msgspec.convert(data, _Saved), tasks.labels
        widths = tuple(saved.widths)
        require(len(widths) == len(names), f"{len(widths)} widths are given for {len(names)} views")
        require(sum(widths) <= MOST_FEATURES, "the views have more features than there can be")
        narrow = tuple(min(width, len(names)) for width in widths)  # the number of views may exceed that of features
        state: ViewState = self.init(tasks, InputShape(sum(narrow), saved.dense, names, narrow))
        state.model = rebuild(saved.shape, arrays, state.model)
        state.widths, state.rounds = widths, saved.rounds
        state.model.check(widths)
        return state


class ViewLearner(_NormLearner):
    """A linear multi-view learner, which combines a norm over views, weights and a rule.

    Parameters
    ----------
    norm : SchattenNorm, SpectralNorm or GroupNorm
        The map from sums of updates to weights.
    rule : Perceptron or PassiveAggressive
        The condition and the step size of updates; the squared length of a record is ``(2p - 1)‖X‖²``, by the
        smoothness of the norm.
    average : bool
        True to predict by the mean of the weights before each round.

    Raises
    ------
    TypeError
        If the rule is another one.
    """

    def init(self, tasks: Index, size: InputShape, length: int | None = None) -> ViewState:
        """Return the initial state for these tasks and records of the shape ``size``."""
        store, potential = self.norm.start(size.widths, size.dense)
        return ViewState(primal.Primal(store, potential, self._mean), list(size.names), size.widths, size.dense)

    def resize(self, state: ViewState, tasks: int, size: InputShape, counted: bool = True) -> None:
        """Resize the state for views with these numbers of features."""
        if size.widths != state.widths:
            self._reshape(state, size.widths)
            state.model = state.model._replace(store=state.model.store.with_widths(size.widths))
            state.widths = size.widths

    def _learn(self, state: ViewState, records: ViewRecords, y: Margins) -> Moves:
        n, last, K = len(records), len(y), len(state.names)
        moves, labels = (
            Moves(*np.zeros((3, n))),
            np.append(y, np.zeros(n - last)),
        )  # one a record, as compiled code counts them
        model, rows = state.model._replace(mean=self._mean), _form(state, records)
        for first in range(0, last, max(last, 1) if self.norm.compiled else 1):
            end = last if self.norm.compiled else first + 1
            places = slice(first, end + n - last)
            part = Moves(*(array[places] for array in moves))
            primal.learn(model, self._rule, cut(rows, K, places.start, places.stop), labels[places], end - first, part)
            if isinstance(self.norm, SpectralNorm) and moves.step_sizes[first] > 0.0:
                model.potential.shape(self.norm.gradient, self._rank(state.widths))
                model.store.shape(model.potential)
        state.rounds += last
        return moves

    def score(self, state: ViewState, records: ViewRecords) -> Margins:
        """Return the margins of records."""
        margins = np.zeros(len(records))
        primal.predict(state.model._replace(mean=self._mean), _form(state, records), margins)
        return margins

    def weights(self, state: ViewState) -> list[NDArray[np.float64]]:
        """Return the current weights, the views' weights one after the other."""
        return list(state.model.store.by_view(state.model.potential, state.widths))


class KernelViewLearner(_NormLearner):
    """A multi-view learner with support vectors and kernels, which combines a norm over views and a rule.

    Parameters
    ----------
    norm : SchattenNorm, SpectralNorm or GroupNorm
        The map from sums of updates to weights; a group norm must have ``inner=2``.
    kernels : kernel, sequence or mapping of them
        For views of one space: one kernel for all pairs of views, or a mapping with one per pair. For views of separate
        spaces: one for all views, or one per view.
    rule, average
        See :class:`ViewLearner`.

    Raises
    ------
    TypeError
        If the rule is another one.
    ValueError
        If the norm has ``inner`` other than 2, because only then there is a dual form.
    """

    def __init__(self, norm: Norm, kernels: Part, rule: Part, average: bool) -> None:
        if norm.inner != 2.0:
            raise ValueError(f"kernels require inner=2, got inner={norm.inner!r}")
        super().__init__(norm, rule, average)
        self.kernels = kernels
        self.traits = replace(self.traits, can_refuse=True, counts_unseen=True)

    def _rank(self, widths: Sequence[int]) -> int:
        """Return the number of views, which is the number of singular values if views have kernels."""
        linear = isinstance(self.kernels, PlainProduct) and self.kernels.plain
        return super()._rank(widths) if linear else len(widths)

    def _kernels_for(self, names: Sequence[Hashable]) -> list[Part]:
        """Return the kernels that the norm needs: one per view or, for views in one space, one per pair of views."""
        pairs = self.norm.one_space and isinstance(self.kernels, Mapping)
        return by_pair(self.kernels, names) if pairs else by_view(self.kernels, names)

    def init(self, tasks: Index, size: InputShape, length: int | None = None) -> ViewState:
        """Return the initial state; raise ValueError if a view or a pair of views has no kernel."""
        kernels, widths = self._kernels_for(size.names), size.widths
        potential = self.norm.potential(len(widths), self._rank(widths))
        require_sizes(kernels, size.names, widths)
        supports = dual.Supports.empty(widths, size.dense, len(potential.factor))
        model = dual.Expanded(supports, potential, self._mean)
        return ViewState(model, list(size.names), widths, size.dense, kernels)

    def resize(self, state: ViewState, tasks: int, size: InputShape, counted: bool = True) -> None:
        """Resize the state for views with these numbers of features; on an error it is unchanged."""
        if size.widths != state.widths:
            require_sizes(state.kernels, state.names, size.widths)
            self._reshape(state, size.widths)
            state.widths = size.widths
            state.model = state.model._replace(supports=state.model.supports.with_widths(size.widths, state.dense))

    def _learn(self, state: ViewState, records: ViewRecords, y: Margins) -> Moves:
        n, last, learned = len(records), len(y), 0
        moves = Moves(*np.zeros((3, n)))
        while learned < last:
            learned = self._block(state, records, y, learned, last, n - last, moves)
        state.rounds += last
        return moves

    def _block(
        self, state: ViewState, records: ViewRecords, y: Margins, first: int, last: int, delay: int, moves: Moves
    ) -> int:
        """Learn the records of a block from ``first`` on until memory is full.

        Return the index of the first one not learned.
        """
        supports, potential = state.model.supports, state.model.potential
        most = self._at_once(state, len(supports.coefficients) + MOST) if self.norm.compiled else 1
        n = min(last - first, most)
        block = _seen(state, records[first : first + n], first)
        values = later = self._with_all(state, block, block)
        if len(state.kernels) > len(state.names):
            _require_lengths(values[np.arange(n), len(supports.coefficients) + np.arange(n)], block)
        if delay:
            pending = records[first + delay : first + delay + n]
            later = self._with_all(state, _seen(state, pending, first + delay), block)
        coefficients = np.concatenate([supports.coefficients, np.zeros(n)])
        pasts = np.concatenate([supports.pasts, np.zeros((n, len(potential.factor)))])
        part = Moves(
            moves.margins[first + delay : first + delay + n], *(array[first : first + n] for array in moves[1:])
        )
        dual.walk(
            *(potential, self._mean, self._rule, coefficients, pasts, values), *(later, y[first : first + n], part)
        )
        if isinstance(self.norm, SpectralNorm) and part.step_sizes[0] > 0.0:
            potential.shape(self.norm.gradient, self._rank(state.widths))
        state.model = state.model._replace(supports=supports.with_block(block, coefficients, pasts))
        return first + n

    def _at_once(self, state: ViewState, supports: int) -> int:
        """Return the number of records per block, which decreases with the number of support vectors."""
        return max(FEWEST, min(MOST, VALUES // (len(state.model.potential.factor) * supports)))

    def _with_all(self, state: ViewState, records: FeatureSet, block: FeatureSet) -> NDArray[np.float64]:
        """Return the inner products of records with the support vectors, and with the records of the block."""
        supports = state.model.supports.seen
        return np.concatenate([self._products(state, records, supports), self._products(state, records, block)], axis=1)

    def _products(
        self, state: ViewState, X: FeatureSet, Z: FeatureSet, widths: tuple[int, ...] | None = None
    ) -> NDArray[np.float64]:
        values: NDArray[np.float64] = state.model.potential.products(state.kernels, X, Z, widths or state.widths)
        if not np.isfinite(values).all():
            raise ValueError(f"the values of the kernels {state.kernels!r} are not all finite")
        return values

    def score(self, state: ViewState, records: ViewRecords) -> Margins:
        """Return the margins of records."""
        supports, margins = state.model.supports, np.zeros(len(records))
        size, rows = self._at_once(state, len(supports.births) + 1), place_unseen(records.rows, max(state.widths))
        records, widths = replace(records, rows=rows), state.widths
        if isinstance(rows, Csr) and rows.width > max(widths):  # features that no record had
            widths = (rows.width,) * len(widths)
        for first in range(0, len(records), size):
            values = self._products(state, _seen(state, records[first : first + size], first), supports.seen, widths)
            part = margins[first : first + size]
            dual.predict(state.model.potential, self._mean, supports.coefficients, supports.pasts, values, part)
        return margins


def by_view(kernels: Part, names: Sequence[Hashable]) -> list[Part]:
    """Return one kernel per view, given one kernel for all, a list in the order of the views, or a mapping by name.

    Raises
    ------
    ValueError
        If there is not one per view.
    """
    if isinstance(kernels, Mapping):
        _same_views(list(kernels), names)
        return [kernels[name] for name in names]
    if isinstance(kernels, tuple):
        if len(kernels) != len(names):
            raise ValueError(f"kernels must have one kernel per view: got {len(kernels)} for {len(names)} views")
        return list(kernels)
    return [kernels] * len(names)


def by_pair(kernels: Mapping[tuple[Hashable, Hashable], Part], names: Sequence[Hashable]) -> list[Part]:
    """Return one kernel for each pair of views (0, 0), (0, 1), ..., given a mapping from pairs of names.

    Raises
    ------
    ValueError
        If there is not exactly one per pair, with its names in either order.
    """
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i:]]
    known = set(map(frozenset, pairs))
    by_names: dict[frozenset[Hashable], Part] = {}
    for key, kernel in kernels.items():
        if not (isinstance(key, tuple) and len(key) == 2 and frozenset(key) in known):
            raise ValueError(f"kernel has the key {key!r}; expected pairs of the views {', '.join(map(repr, names))}")
        if frozenset(key) in by_names:
            raise ValueError(f"duplicate kernels for the views {key[0]!r} and {key[1]!r}")
        by_names[frozenset(key)] = kernel if key in pairs else Turned(kernel)
    for a, b in pairs:
        if frozenset((a, b)) not in by_names:
            raise ValueError(f"no kernel given for the views {a!r} and {b!r}")
    return [by_names[frozenset(pair)] for pair in pairs]


@dataclass(frozen=True)
class Turned:
    """The kernel k(z, x), for a kernel k(x, z) of two views: its arguments are exchanged."""

    kernel: Part

    @property
    def trusted(self) -> bool:
        """True if the kernel is known to be positive semidefinite."""
        return bool(self.kernel.trusted)

    def values(self, X: Points, Z: Points, out: NDArray[np.float64]) -> None:
        """Fill ``out``, shape (n, m), with the kernel values of all pairs."""
        self.kernel.values(Z, X, turned := np.zeros(out.shape[::-1]))
        out[:] = turned.T

    def diagonal(self, X: Points) -> NDArray[np.float64]:
        """Return k(x, x) of each record."""
        return np.asarray(self.kernel.diagonal(X))


def require_sizes(kernels: Sequence[Part], names: Sequence[Hashable], widths: Sequence[int]) -> None:
    """Raise ValueError if a kernel joins views with different numbers of features.

    Functions of two arrays are excepted.
    """
    K = len(names)
    for a, b in itertools.combinations(range(K if len(kernels) > K else 0), 2):
        kernel = kernels[pair(a, b, K)]
        function = isinstance(kernel.kernel if isinstance(kernel, Turned) else kernel, Function)
        if widths[a] and widths[b] and widths[a] != widths[b] and not function:
            raise ValueError(
                f"between views of different sizes a kernel must be a function of two arrays: {names[a]!r} has "
                f"{widths[a]} features, {names[b]!r} has {widths[b]}, and theirs is {kernel!r}"
            )


def _require_lengths(own: NDArray[np.float64], block: FeatureSet) -> None:
    """Raise ValueError if the kernel values of the views of one record do not form a positive semidefinite matrix."""
    K = block.present.shape[1]
    values = np.linalg.eigvalsh(own.reshape(-1, K, K))
    wrong = values[:, 0] < -SLACK * np.maximum(values[:, -1], 0.0) - SLACK**2
    if wrong.any():
        t = int(block.rounds[np.argmax(wrong)])
        raise ValueError(
            f"the kernels of pairs of views are jointly not positive semidefinite, see the record of round {t} (from 0)"
        )


def compiled_rule(rule: Part) -> MistakeStep | ShortestStep:
    """Return the compiled form of a rule, which must be the Perceptron or passive-aggressive.

    Raises
    ------
    TypeError
        If it is another rule.
    """
    spec.require_part("rule", rule, "PassiveAggressive()")
    compiled = rule.compiled() if isinstance(rule, Rule) else None
    if not isinstance(compiled, (MistakeStep, ShortestStep)) or (
        isinstance(compiled, ShortestStep) and compiled.numbers == 1
    ):
        raise TypeError(f"{rule!r} is not supported for views; choose Perceptron() or PassiveAggressive()")
    return compiled


def _same_views(views: Sequence[Hashable], names: Sequence[Hashable]) -> None:
    for name in views:
        if name not in names:
            raise ValueError(f"kernels has the unknown view {name!r}; the views are {', '.join(map(repr, names))}")
    for name in names:
        if name not in views:
            raise ValueError(f"no kernel given for view {name!r}")


def _form(state: ViewState, records: ViewRecords) -> ViewRows:
    """Convert records to dense or sparse rows as the model stores them, with zeros for absent views."""
    return cut(as_form(records.rows, state.dense, state.widths), len(state.names), 0, len(records))


def _seen(state: ViewState, records: ViewRecords, first: int) -> FeatureSet:
    """Convert records to the form that kernels read; ``first`` is the number of rounds before the first one."""
    return FeatureSet(_form(state, records), records.present, state.rounds + first + np.arange(len(records)))
