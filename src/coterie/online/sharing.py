"""The classifier that learns how much its tasks share."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from coterie import persistence, spec
from coterie.hypotheses import AdaptiveGradient, DiagonalAROW
from coterie.mixture import Member, Mixture
from coterie.relations import HalfUpdate, Independent, MeanRegularized, Pooled
from coterie.rules import AROW, Logistic
from coterie.wrappers import Signed

from .estimator import OnlineEstimator
from .logistic import MultitaskLogistic

Members = dict[str, Member]

#: AROW members, noise r and share: those of "shares", and those that "ensemble" adds.
AROWS = ((30.0, 0.5), (3.0, 1.0))
MORE_AROWS = ((1.0, 0.0), (1.0, 0.5), (100.0, 0.0), (100.0, 0.5))
#: Shares of the logistic members of "shares".
_ENDS = {0.0: "independent", 1.0: "pooled"}
#: The experts of "cheap" from its two learners: the pool, a task's own, both.
CHEAP = {"pooled": (1.0, 0.0), "own": (0.0, 1.0), "both": (1.0, 1.0)}


@persistence.register
class AdaptiveSharingClassifier(OnlineEstimator):
    r"""Learns online how much tasks share, over all of them and for each: the default learner.

    Several learners go along side by side, by default :class:`MultitaskLogistic` with nothing and with all of a step
    shared, and :class:`MultitaskAROW` with half and with all of it. Their log-odds f_a are mixed by their 0/1 losses so
    far, L_a over all tasks and L_ia on task i (a zero margin counts half; S members):

        eta = min(1, sqrt(2 ln S / (1 + min_a L_a))),    p_a ∝ exp(-eta L_a - local · L_ia),    mixed = Σ_a p_a f_a.

    The margin is c · mixed + Σ_a u_a f_a, with c = 1 and u = 0 in the beginning: a logistic regression, learned online
    over all tasks, that makes log-odds of what members of different scales say together. It is about as good as the
    best of its members in hindsight, falls back to independent models or to a single one where these are best, and may
    choose differently for each task.

    Parameters
    ----------
    members : {"shares", "cheap", "ensemble", "signed"} or sequence, optional
        What is mixed; ``"shares"`` without.

        ============  ==========================================================================================
        ``shares``    logistic at share 0 and 1, AROW with r=30 at share 1/2 and with r=3 at share 1
        ``cheap``     a pooled and a per-task logistic and their sum: half the time and memory, for millions of tasks
        ``ensemble``  ``shares``, and AROW with r=1 and with r=100, each at share 0 and 1/2: the most accurate
        ``signed``    ``shares`` and a pool that tasks may see with all signs turned, for tasks that mirror others
        ============  ==========================================================================================

        Or any sequence of online classifiers and of :class:`coterie.mixture.Member`. If margins of one are no
        log-odds, such as a Perceptron's, all are mixed by margins as they are, c and u stay, and there are no
        probabilities.
    local : float >= 0
        lambda: how fast a task's own losses speak against a member, 0 for one mixture for all tasks.
    step : float > 0
        Of the logistic members of the named sets.
    storage, bits, dtype
        Of the members of the named sets, as in :class:`MultitaskPerceptron`.
    task_column, new_task, max_tasks
        As in :class:`MultitaskPerceptron`.

    Attributes
    ----------
    sharing_ : ndarray, shape (n_tasks,)
        The share expected of each task of ``tasks_``, that of its members, weighted: near 0 it has a model of its own,
        near 1 that of all.
    sharing_weights_ : ndarray, shape (n_tasks, n_members)
        The weights p_a of the members at each task.
    members_ : list of str
        The members' names, in that order.

    Notes
    -----
    O(nnz) a record and member, and O(S²) a record, whatever the number of tasks. Where a stream's labels come late,
    members are charged for what they told when asked, not for what they would say when the label comes.

    Examples
    --------
    >>> import numpy as np, coterie as ct
    >>> rng = np.random.default_rng(0)
    >>> X, task = rng.standard_normal((4000, 5)), rng.integers(4, size=4000)
    >>> y = X[:, 0] * np.where(task == 3, -1, 1) > 0
    >>> model = ct.AdaptiveSharingClassifier().fit(X, y, task=task)
    >>> model.members_
    ['independent', 'pooled', 'half-shared AROW(30)', 'pooled AROW(3)']
    >>> bool(model.sharing_.max() < 0.5)  # a model of all would be wrong on the fourth task
    True
    """

    def __init__(
        self,
        members: Literal["shares", "cheap", "ensemble", "signed"] | Sequence[Any] | None = None,
        local: float = 0.1,
        step: float = 0.7,
        *,
        storage: Literal["auto", "dense", "sparse", "hashed"] = "auto",
        bits: int = 22,
        dtype: Literal["float64", "float32"] = "float64",
        task_column: Hashable | None = None,
        new_task: Literal["grow", "raise"] = "grow",
        max_tasks: int | None = None,
    ) -> None:
        self.members = members
        self.local = local
        self.step = step
        self.storage = storage
        self.bits = bits
        self.dtype = dtype
        self.task_column = task_column
        self.new_task = new_task
        self.max_tasks = max_tasks

    @property
    def members_(self) -> list[str]:
        """The members' names."""
        if self.members == "cheap":
            return list(CHEAP)
        return list(self._named_members())

    @property
    def sharing_(self) -> NDArray[np.float64]:
        """The share expected of each task of ``tasks_``."""
        model = self._fitted_model()
        with model.lock:
            return np.asarray(model.learner.share(model.state))

    @property
    def sharing_weights_(self) -> NDArray[np.float64]:
        """The weights of the members at each task of ``tasks_``, in the order of ``members_``."""
        model = self._fitted_model()
        mixture: Any = model.learner
        with model.lock:
            return np.asarray(mixture.expert_weights(model.state))

    def with_relation(self, relation: Any) -> Any:
        """The first member under one relation, of the named sets logistic: what learning the share is compared with."""
        first = None if self.members is None or isinstance(self.members, str) else self.members[0]
        if isinstance(first, OnlineEstimator):
            return first.with_relation(relation)
        shared = {name: getattr(self, name) for name in ("step", "storage", "bits", "dtype", "task_column", "new_task")}
        return MultitaskLogistic(relation, **shared)

    def _make_learner(self) -> Any:
        learners = [member.learner() for member in self._named_members().values()]
        experts = list(CHEAP.values()) if self.members == "cheap" else None
        return Mixture(learners, experts, self.local)

    def _named_members(self) -> Mapping[str, Any]:
        if self.members is None or isinstance(self.members, str):
            name = self.members or "shares"
            if name not in _SETS:
                raise ValueError(f"members must be one of {', '.join(_SETS)} or a sequence of models, got {name!r}")
            made: Members = _SETS[name](self._gradient(), self._storage)
            return made
        for n, member in enumerate(self.members):
            spec.require_instance(f"members[{n}]", member)
            if not isinstance(member, (OnlineEstimator, Member)):
                raise TypeError(f"members must be online classifiers or coterie.mixture.Member, got {member!r}")
        return {f"{n}: {member!r}": member for n, member in enumerate(self.members)}

    def _gradient(self) -> AdaptiveGradient:
        return AdaptiveGradient(self.step, **self._storage)

    @property
    def _storage(self) -> dict[str, Any]:
        return {"storage": self.storage, "dtype": self.dtype, "bits": self.bits}


def relation_at(share: float) -> Any:
    """The relation M = (1 - s) I + s 11' of that share."""
    known = {0.0: Independent(), 0.5: HalfUpdate(), 1.0: Pooled()}
    return known.get(share) or MeanRegularized(share=share)


def _shares(gradient: AdaptiveGradient, storage: dict[str, Any]) -> Members:
    logistic = {name: Member(gradient, relation_at(share), Logistic()) for share, name in _ENDS.items()}
    return logistic | _arows(AROWS, storage)


def _arows(chosen: Sequence[tuple[float, float]], storage: dict[str, Any]) -> Members:
    names = _ENDS | {0.5: "half-shared"}
    made = [(r, share, Member(DiagonalAROW(r, **storage), relation_at(share), AROW())) for r, share in chosen]
    return {f"{names[share]} AROW({r:g})": member for r, share, member in made}


def _cheap(gradient: AdaptiveGradient, storage: dict[str, Any]) -> Members:
    return {name: Member(gradient, relation_at(share), Logistic()) for name, share in (("pooled", 1.0), ("own", 0.0))}


def _ensemble(gradient: AdaptiveGradient, storage: dict[str, Any]) -> Members:
    return _shares(gradient, storage) | _arows(MORE_AROWS, storage)


def _signed(gradient: AdaptiveGradient, storage: dict[str, Any]) -> Members:
    return _shares(gradient, storage) | {"signed pool": Member(Signed(gradient), Pooled(), Logistic())}


_SETS: dict[str, Any] = {"shares": _shares, "cheap": _cheap, "ensemble": _ensemble, "signed": _signed}
