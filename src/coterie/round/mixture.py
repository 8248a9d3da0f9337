r"""Adaptive sharing: several learners side by side, mixed by how well each has done over all tasks and on each.

With L_a the 0/1 loss of expert a so far and L_ia that on task i (a zero margin counts half), at task i

    eta = min(1, sqrt(2 ln S / (1 + min_a L_a))),    p_a ∝ exp(-eta L_a - lambda L_ia),    mixed = Σ_a p_a f_a.

Learners are not aware of each other. An expert is a sum of learners' margins, one of them alone as a rule. Where the
f_a are log-odds, a logistic regression on all of them, learned online, has the last word and makes log-odds of them,

    margin = c · mixed + Σ_a u_a f_a,    c, u ~ Normal((1, 0), I / 10) before the first round.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from coterie import spec
from coterie.index import Index
from coterie.numeric.core.arrays import Dropped, enlarged
from coterie.numeric.core.records import weights_of
from coterie.numeric.primal.mixture import (
    UNSURE,
    Losses,
    Stacker,
    allocate_work,
    blend,
    combine,
    first_layer,
    mix,
    weigh,
)
from coterie.numeric.trees import Arrays, array_of, flatten, require_held, strip_prefix
from coterie.numeric.weights.table import Weights
from coterie.state import copied

from .contract import (
    BaseLearner,
    Batch,
    Capabilities,
    Codes,
    InputShape,
    Margins,
    MemberLearner,
    Predictions,
    SavedMembers,
    UpdateResult,
    finite,
    in_pieces,
    nothing,
)
from .linear import LinearLearner

#: Records that all learners see before the next ones: long enough for a learner's weights to come into the processor's
#: cache and stay, while the margins of all learners, kept until they are mixed, take a few megabytes.
PIECE = 65_536


@spec.part
class Member:
    """One learner of a mixture, given by its parts.

    Parameters
    ----------
    hypothesis, relation, rule : part
        As :class:`coterie.round.linear.LinearLearner` joins them.

    Examples
    --------
    >>> from coterie import Pooled
    >>> from coterie.hypotheses import LinearWeights
    >>> from coterie.rules import PassiveAggressive
    >>> Member(LinearWeights(), Pooled(), PassiveAggressive()).rule
    PassiveAggressive(C=1.0, variant='I')
    """

    hypothesis: Any
    relation: Any
    rule: Any

    def learner(self) -> LinearLearner:
        """The parts joined; TypeError if they do not go together."""
        return LinearLearner(self.hypothesis, self.relation, self.rule)


@dataclass
class MixtureState:
    """The states of the learners, the losses of the experts that are made of them, and the last step."""

    members: list[Any]
    tasks: Index
    losses: Losses
    layer: Stacker
    features: int
    known: int
    rounds: int = 0

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return sum(int(held.nbytes) for held in [*self.members, *self.losses, *self.layer])


class Ensemble(MemberLearner):
    """Learners mixed into one that has the same methods.

    Parameters
    ----------
    learners : sequence of learners
        Those that learn, each by its own margins.
    experts : array, shape (S, n_learners), optional
        Each row an expert, the sum of the learners' margins with these factors; the learners themselves without.
    local : float >= 0
        lambda, how fast a task's own losses speak against an expert.

    Notes
    -----
    Where all learners have log-odds, these are mixed, and the last step learns; else margins as they are, whose scales
    should then be alike. O(S²) a record beside what the learners cost.
    """

    def __init__(
        self,
        learners: Sequence[BaseLearner],
        experts: ArrayLike | None = None,
        local: float = 0.1,
    ) -> None:
        if not learners:
            raise ValueError("a mixture needs at least one member")
        spec.check_not_negative("local", local)
        self.learners, self.local = list(learners), float(local)
        self.traits = _traits_of([learner.traits for learner in learners])
        self.unsure = 0.0 if self.traits.log_odds is None else UNSURE
        self.experts = np.eye(len(learners)) if experts is None else np.asarray(experts, np.float64)
        factors = [1.0 if self.traits.log_odds is None else learner.traits.log_odds for learner in learners]
        self._scaled = self.experts * np.array(factors)

    # -- tasks and features -------------------------------------------------------------------------------------------

    def init(self, tasks: Index, size: InputShape, length: int | None = None) -> MixtureState:
        """The state before the first round."""
        members = [learner.init(tasks, size, length) for learner in self.learners]
        losses = Losses(np.zeros(len(self.experts)), np.zeros((len(tasks), len(self.experts))))
        return MixtureState(members, tasks, losses, self._layer(), size.features, len(tasks))

    def _layer(self) -> Stacker:
        return first_layer(len(self.experts), self.unsure)

    def resize(self, state: MixtureState, tasks: int, size: InputShape, counted: bool = True) -> None:
        """Make room for the first so many tasks of the index and for records so wide; all or nothing."""
        super().resize(state, tasks, size, counted)
        state.losses = state.losses._replace(tasks=enlarged(state.losses.tasks, tasks))

    def drop(self, state: MixtureState, dropped: Dropped, tasks: Sequence[Hashable]) -> None:
        """Drop tasks: their losses, and what each learner has."""
        super().drop(state, dropped, tasks)
        dropped.move(state.losses.tasks)

    def hold(self, state: MixtureState) -> Callable[[], None]:
        """A function that takes back all that was learned since, where records may be refused."""
        take_back = super().hold(state)
        if take_back is nothing:
            return nothing
        before = {**vars(state), "losses": copied(state.losses), "layer": copied(state.layer)}

        def all_back() -> None:
            take_back()
            vars(state).update(before)

        return all_back

    def hold_mixing(self, state: MixtureState) -> Callable[[], None]:
        """A function that gives back the losses and the last step of now; no task may be dropped meanwhile."""
        held = [array.copy() for array in (*state.losses, *state.layer)]
        give_back_members = super().hold_mixing(state)

        def give_back() -> None:
            for array, before in zip((*state.losses, *state.layer), held, strict=True):
                array[: len(before)] = before
            give_back_members()

        return give_back

    # -- rounds -------------------------------------------------------------------------------------------------------

    def predict(self, state: MixtureState, run: Batch) -> Predictions:
        """Predict records by all learners, and mix."""
        members = self.predict_each(state, run)
        experts = self._experts_of([each.margins for each in members])
        mixed = self._blended(state, run.tasks, experts)
        return Predictions(mixed, np.nan_to_num(experts), tuple(map(finite, members)))

    def _blended(self, state: MixtureState, codes: Codes, experts: NDArray[np.float64]) -> Margins:
        mixed = np.zeros(len(codes))
        blend(state.losses, state.layer, self.local, codes, experts, mixed, allocate_work(len(self.experts)))
        return mixed

    def _experts_of(self, margins: Sequence[Margins]) -> NDArray[np.float64]:
        experts = np.zeros((len(self._scaled), len(margins[0])))
        combine(self._scaled, np.array(margins), experts)
        return experts

    def learn(self, state: MixtureState, run: Batch, y: NDArray[np.float64]) -> UpdateResult:
        """Let all learners learn a piece, then mix.

        An expert is charged for the margin that it predicted: when the label comes, learners have learned from the
        record's neighbours, and know more of it than they did. Where all predicted 0, as before anything is learned, or
        where their predictions are not known, it is the margin they have now.
        """
        done = in_pieces(run, y, [*range(PIECE, len(y), PIECE), len(y)], partial(self._learn_piece, state))
        state.rounds += len(y)
        return done

    def _learn_piece(self, state: MixtureState, run: Batch, y: NDArray[np.float64]) -> UpdateResult:
        n, m = len(run.tasks), len(y)
        made = self.learn_each(state, run, [y] * len(self.learners))
        experts = self._experts_of([each.predictions.margins for each in made])
        before = max(run.given, n - m)  # these records were predicted before
        experts[:, :before] = 0.0 if run.predictions is None else run.predictions.experts
        charged = experts
        if before:
            own = self._experts_of([each.own for each in made])
            charged = np.where(experts[:, :m].any(axis=0) & ~np.isnan(own), experts[:, :m], own)
        mixed, own, work = np.zeros(n), np.zeros(n), allocate_work(len(self.experts))
        asked = charged if n == m else experts
        weights = weights_of(run.rows)
        mix(state.losses, state.layer, self.local, run.tasks, y, weights, asked, charged, m, mixed, own, work)
        steps = np.maximum.reduce([each.steps for each in made])
        predictions = Predictions(mixed, np.nan_to_num(experts), tuple(finite(each.predictions) for each in made))
        return UpdateResult(predictions.after(run.predictions), own[:m], steps)

    # -- what was learned ---------------------------------------------------------------------------------------------

    def linear_part(self, state: MixtureState, run: Batch, record: Any = None) -> Margins:
        """The part of margins that is a weighted sum of features: the mixture of the members' such parts."""
        each = [learner.linear_part(inner, run, record) for learner, inner in self.pairs(state)]
        return self._blended(state, run.tasks, self._experts_of(each))

    def expert_weights(self, state: MixtureState) -> NDArray[np.float64]:
        """The weights p_a of the experts for every known task, shape (n_tasks, S)."""
        weights = np.zeros((state.known, len(self.experts)))
        left = [np.full(1, np.nan if learner.has_left(inner) else 0.0) for learner, inner in self.pairs(state)]
        margins = self._experts_of(left)[:, 0]
        for i, row in enumerate(weights):
            weigh(state.losses.overall, state.losses.tasks[i], self.local, margins, row)
        return weights

    def share(self, state: MixtureState) -> NDArray[np.float64]:
        """The expected share of each task: the mean of its experts' shares, by their weights."""
        each = np.array([learner.share(inner) for learner, inner in self.pairs(state)])
        return np.asarray(np.einsum("ia,am,mi->i", self.expert_weights(state), self._parts(), each))

    def _parts(self) -> NDArray[np.float64]:
        """How much of each expert is of each learner."""
        return np.asarray(np.abs(self.experts) / np.abs(self.experts).sum(axis=1, keepdims=True))

    def weights(self, state: MixtureState) -> Weights:
        """The weights that predictions use, one row a task, dense."""
        factors = self._factors(state)
        each = (learner.weights(inner) for learner, inner in self.pairs(state))  # one at a time: they may be large
        return np.asarray(sum(factor[:, None] * W for factor, W in zip(factors.T, each, strict=True)))

    def _factors(self, state: MixtureState) -> NDArray[np.float64]:
        """The factors of the learners' margins in those of each task, shape (n_tasks, n_learners)."""
        last = state.layer.mean
        return np.asarray((last[-1] * self.expert_weights(state) + last[:-1]) @ self._scaled)

    def intercepts(self, state: MixtureState) -> NDArray[np.float64]:
        """The part of each task's margins that no record changes, beside the weights, shape (n_tasks,)."""
        each = np.array(
            [np.broadcast_to(learner.intercepts(inner), state.known) for learner, inner in self.pairs(state)]
        )
        return np.asarray(np.einsum("im,mi->i", self._factors(state), each))

    def relation_matrix(self, state: MixtureState, among: Sequence[int] | None = None) -> NDArray[np.float64]:
        """The mean of the learners' A⁻¹, each scaled to a unit diagonal: Σ_a sqrt(p_ia p_ja) M_a,ij."""
        chosen = list(range(state.known) if among is None else among)
        roots = np.sqrt(self.expert_weights(state)[chosen] @ self._parts())
        total = np.zeros((len(chosen), len(chosen)))
        for root, (learner, inner) in zip(roots.T, self.pairs(state), strict=True):
            M = learner.relation_matrix(inner, chosen)
            scale = np.sqrt(np.diag(M))
            total += np.outer(root / scale, root / scale) * M
        return total

    # -- files --------------------------------------------------------------------------------------------------------

    def dump(self, state: MixtureState) -> tuple[dict[str, Any], Arrays]:
        """The state as plain JSON data and named arrays, without the labels of the tasks."""
        data, arrays = self.dump_members(state)
        losses = state.losses._replace(tasks=state.losses.tasks[: state.known])
        arrays |= flatten(losses, "losses.")[1]
        arrays |= flatten(require_held(state.layer, "layer."), "layer.")[1]
        return {"members": data, "features": state.features, "rounds": state.rounds}, arrays

    def restore(self, data: dict[str, Any], arrays: Arrays, tasks: Index) -> MixtureState:
        """Undo :meth:`dump`.

        Raises
        ------
        ValueError
            If the data do not fit together.
        """
        held = msgspec.convert(data, SavedMembers)
        members, S = self.restore_members(held.members, arrays, tasks, held.features), len(self.experts)
        losses = rebuilt(Losses(np.zeros(0), np.zeros((0, 0))), strip_prefix(arrays, "losses."))
        losses.check(S, len(tasks))
        last = require_held(rebuilt(self._layer(), strip_prefix(arrays, "layer.")), "layer.")
        last.check(S)
        return MixtureState(members, tasks, losses, last, held.features, len(tasks), held.rounds)


_UNLIKE = (
    "a mixture cannot forget a task where the relation of one member names all its tasks, as a graph does, and that of "
    "another does not"
)


def _traits_of(members: Sequence[Capabilities]) -> Capabilities:
    """The traits of a mixture of learners with these."""

    def first(field: str) -> str:
        return next(filter(None, (getattr(each, field) for each in members)), "")

    factors = [each.log_odds for each in members]
    alike = len({each.fixed for each in members}) == 1
    return Capabilities(
        log_odds=None if None in factors else 1.0,
        weighs=all(each.weighs for each in members),
        task_changes_all=any(each.task_changes_all for each in members),
        feature_changes_all=any(each.feature_changes_all for each in members),
        tasks_independent=all(each.tasks_independent for each in members),
        named=tuple(dict.fromkeys(task for each in members for task in each.named)),
        fixed=members[0].fixed,
        cannot_drop=first("cannot_drop") or ("" if alike else _UNLIKE),
        cannot_bound=first("cannot_bound"),
        cannot_multiply=first("cannot_multiply"),
        mixes=True,
        beyond_features=" and ".join(dict.fromkeys(filter(None, (each.beyond_features for each in members)))),
    )


N = TypeVar("N", bound=tuple[Any, ...])


def rebuilt(like: N, arrays: Arrays) -> N:
    """A named tuple of the arrays of its fields, each of the same type as in another."""
    fields: Any = like
    return type(like)(*(array_of(arrays, name, each) for name, each in zip(fields._fields, fields, strict=True)))
