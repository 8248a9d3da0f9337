"""The round for records of several views: a norm over the views, a rule, and weights or support vectors.

Both learners have the methods of :class:`coterie.learner.Learner` that one stream of records needs. A view that is
absent has no part in the round: it adds nothing to the margin and learns nothing.
"""

from __future__ import annotations

import copy
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie import spec
from coterie.numeric import view_walk, views
from coterie.numeric.stream import Moves
from coterie.numeric.trees import Arrays, flatten, rebuild
from coterie.numeric.view_forms import as_form, cut, empty, pick, stack
from coterie.state import nbytes_of
from coterie.views import ViewRecords

Margins = NDArray[np.float64]

#: Records of a block in the dual form, at most and at least, and the numbers that a block's kernel values may be.
MOST, FEWEST, VALUES = 128, 8, 2**23
#: In the primal form, records between two looks at the weights, at most, and looks at a shorter block, about.
STRETCH, POINTS = 1024, 64


@dataclass
class ViewState:
    """What a learner of views has learned: a tree of named arrays, the views, and how wide each is."""

    model: Any
    names: list[Hashable]
    widths: tuple[int, ...]
    dense: bool
    kernels: Sequence[Any] = ()
    rounds: int = 0

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return nbytes_of(self.model)


class ViewMoves(NamedTuple):
    """What a run of rounds did: :class:`coterie.numeric.stream.Moves`, and how long views' weights were meanwhile.

    ``lengths[i]`` are those of the K views once ``ends[i]`` of the records were learned, shape (m, K).
    """

    margins: Any
    own: Any
    taus: Any
    ends: Any
    lengths: Any


def with_lengths(moves: Moves, ends: Sequence[int], lengths: Sequence[Any], K: int) -> ViewMoves:
    """Moves with what was noted meanwhile."""
    return ViewMoves(*moves, np.array(ends, np.int64), np.array(lengths, np.float64).reshape(-1, K))


class ViewLearner:
    """A norm over views, weights and a rule joined into one round.

    Parameters
    ----------
    norm : SchattenNorm or GroupNorm
        What makes weights of the sums of moves.
    rule : Perceptron or PassiveAggressive
        When and how far to move; the length of a record is ``(2p - 1)‖X‖²`` to it, by how smooth the norm is.
    average : bool
        Whether to predict by the mean of the weights before each round.

    Raises
    ------
    TypeError
        If the rule is none of these.
    """

    log_odds: float | None = None

    def __init__(self, norm: Any, rule: Any, average: bool) -> None:
        self._rule, self._teller = compiled_rule(rule), teller(average)
        self.norm = norm

    def check(self, names: Sequence[Hashable]) -> None:
        """Refuse views that the parameters do not go with; there are none."""

    def adopt(self, state: ViewState) -> None:
        """Go on with what a learner of other parameters has learned, if these differ in rule and average only."""
        _same_norm(self.norm, state.model.potential)

    def init(self, names: Sequence[Hashable], widths: Sequence[int], dense: bool) -> ViewState:
        """The state before the first round."""
        store, potential = self.norm.primal(widths, dense)
        model = views.Primal(store, potential, self._teller)
        return ViewState(model, list(names), tuple(widths), dense)

    def fit_widths(self, state: ViewState, widths: Sequence[int]) -> None:
        """Make room for views so wide."""
        if tuple(widths) != state.widths:
            state.model = state.model._replace(store=self.norm.fit(state.model.store, state.widths, widths))
            state.widths = tuple(widths)

    def update_many(self, state: ViewState, records: ViewRecords, y: Margins, last: int | None = None) -> ViewMoves:
        """Predict and learn records one after the other, those after ``last`` predicted only."""
        n, K = len(records), len(state.names)
        moves, last = Moves(np.zeros(n), np.zeros(n), np.zeros(n)), n if last is None else last
        model, rows = state.model._replace(teller=self._teller), _form(state, records)
        ends, lengths, size = [], [], min(STRETCH, max(last // POINTS, FEWEST))
        for first in range(0, last, size):
            end = min(first + size, last)
            some = slice(first, end + n - last)
            part = Moves(*(each[some] for each in moves))
            views.learn(model, self._rule, cut(rows, K, some.start, some.stop), y[some], end - first, part)
            ends.append(end)
            lengths.append(self.lengths(state))
        state.rounds += last
        return with_lengths(moves, ends, lengths, K)

    def lengths(self, state: ViewState) -> Margins:
        """How long the weights of each view are."""
        return np.asarray(self.norm.lengths(state.model.store, state.model.potential))

    def score(self, state: ViewState, records: ViewRecords) -> Margins:
        """Margins of records; nothing is written."""
        margins = np.zeros(len(records))
        views.predict(state.model._replace(teller=self._teller), _form(state, records), margins)
        return margins

    def pass_by(self, state: ViewState, rounds: int = 1) -> None:
        """End rounds whose labels nobody saw: the mean goes on."""
        state.model.potential.clock[0] += rounds
        state.rounds += rounds

    def weights(self, state: ViewState) -> list[NDArray[np.float64]]:
        """The weights that learn, view by view."""
        return list(self.norm.weights(state.model.store, state.model.potential, state.widths))

    def dump(self, state: ViewState) -> tuple[dict[str, Any], Arrays]:
        """The state as plain JSON data and named arrays."""
        shape, arrays = flatten(state.model)
        held = {"shape": shape, "widths": list(state.widths), "dense": state.dense}
        return held | {"rounds": state.rounds}, arrays

    def restore(self, data: dict[str, Any], arrays: Arrays, names: Sequence[Hashable]) -> ViewState:
        """Undo :meth:`dump`."""
        model = rebuild(data["shape"], arrays)
        return ViewState(model, list(names), tuple(data["widths"]), data["dense"], rounds=data["rounds"])


class KernelViewLearner:
    """As :class:`ViewLearner`, in the dual form: support vectors, and products by kernels.

    Parameters
    ----------
    norm : SchattenNorm or GroupNorm
        As there; of a group norm with ``inner=2`` only.
    kernels : kernel, sequence or mapping of them
        One for all pairs of views of one space; for views of spaces of their own, one for all or one a view.
    rule, average
        As there.

    Raises
    ------
    TypeError
        If the rule is none of those.
    ValueError
        If the norm is none that has a dual form.
    """

    log_odds: float | None = None

    def __init__(self, norm: Any, kernels: Any, rule: Any, average: bool) -> None:
        if getattr(norm, "inner", 2.0) != 2.0:
            raise ValueError(f"kernels go with inner=2 only, products being all they know, got inner={norm.inner!r}")
        self._rule, self._teller = compiled_rule(rule), teller(average)
        self.norm, self.kernels = norm, kernels

    def check(self, names: Sequence[Hashable]) -> None:
        """Refuse views for which there are not the kernels: ValueError."""
        by_view(self.kernels, names)

    def adopt(self, state: ViewState) -> None:
        """As :meth:`ViewLearner.adopt`."""
        _same_norm(self.norm, state.model.potential)
        if list(state.kernels) != by_view(self.kernels, state.names):
            raise ValueError(f"kernels cannot change once something is learned, from {state.kernels!r}: fit anew")

    def init(self, names: Sequence[Hashable], widths: Sequence[int], dense: bool) -> ViewState:
        """The state before the first round."""
        kernels, potential = by_view(self.kernels, names), self.norm.potential(len(names))
        none = np.zeros(0)
        supports = view_walk.Supports(
            empty(dense, widths),
            np.zeros((0, len(names)), bool),
            np.zeros(0, np.int64),
            none,
            np.zeros((0, len(potential.factor))),
        )
        model = view_walk.Expanded(supports, potential, self._teller)
        return ViewState(model, list(names), tuple(widths), dense, kernels)

    def fit_widths(self, state: ViewState, widths: Sequence[int]) -> None:
        """Make room for views so wide."""
        if tuple(widths) != state.widths:
            state.widths = tuple(widths)
            supports = state.model.supports
            wider = supports._replace(rows=as_form(supports.rows, state.dense, widths))
            state.model = state.model._replace(supports=wider)

    def update_many(self, state: ViewState, records: ViewRecords, y: Margins, last: int | None = None) -> ViewMoves:
        """Predict and learn records one after the other; see :meth:`ViewLearner.update_many`.

        Raises
        ------
        ValueError
            If a kernel's values are not finite; nothing is learned.
        """
        n, before = len(records), (copy.deepcopy(state.model.potential), state.model)
        moves, last = Moves(np.zeros(n), np.zeros(n), np.zeros(n)), n if last is None else last
        delay, done = n - last, 0
        ends, lengths = [], []
        try:
            while done < last:
                done = self._block(state, records, y, done, last, delay, moves)
                ends.append(done)
                lengths.append(self.norm.lengths(None, state.model.potential))
        except BaseException:
            state.model = before[1]._replace(potential=before[0])
            raise
        state.rounds += last
        return with_lengths(moves, ends, lengths, len(state.names))

    def _block(
        self, state: ViewState, records: ViewRecords, y: Margins, first: int, last: int, delay: int, moves: Moves
    ) -> int:
        supports, potential, q = state.model.supports, state.model.potential, len(state.model.potential.factor)
        m = len(supports.coefficients)
        n = min(last - first, max(FEWEST, min(MOST, VALUES // (q * (m + MOST)))))
        rounds = state.rounds + first + np.arange(n)
        block, later = records[first : first + n], records[first + delay : first + delay + n]
        own = (_form(state, block), block.present, rounds)
        told = (_form(state, later), later.present, rounds[: len(later)] + delay)
        held = (supports.rows, supports.present, supports.births)
        values = np.concatenate([self._values(state, own, held), self._values(state, own, own)], axis=1)
        if delay:
            others = np.concatenate([self._values(state, told, held), self._values(state, told, own)], axis=1)
        coefficients = np.concatenate([supports.coefficients, np.zeros(n)])
        pasts = np.concatenate([supports.pasts, np.zeros((n, q))])
        some = Moves(moves.margins[first + delay : first + delay + n], *(each[first : first + n] for each in moves[1:]))
        view_walk.walk(
            *(potential, self._teller, self._rule, coefficients, pasts, values),
            *(others if delay else values, y[first : first + n], some),
        )
        new = np.flatnonzero(coefficients[m:])
        if len(new):
            rows = stack(supports.rows, pick(own[0], len(state.names), new))
            present = np.concatenate([supports.present, block.present[new]])
            births = np.concatenate([supports.births, rounds[new]])
            keep = np.concatenate([np.arange(m), m + new])
            kept = view_walk.Supports(rows, present, births, coefficients[keep], pasts[keep])
            state.model = state.model._replace(supports=kept)
        return first + n

    def _values(self, state: ViewState, X: Any, Z: Any) -> NDArray[np.float64]:
        values: NDArray[np.float64] = self.norm.values(state.kernels, X, Z, state.widths)
        if not np.isfinite(values).all():
            raise ValueError(f"the values of the kernels {state.kernels!r} must be finite, and some are not")
        return values

    def score(self, state: ViewState, records: ViewRecords) -> Margins:
        """Margins of records; nothing is written."""
        supports, margins = state.model.supports, np.zeros(len(records))
        held = (supports.rows, supports.present, supports.births)
        size = max(FEWEST, min(MOST, VALUES // (len(state.model.potential.factor) * (len(supports.births) + 1))))
        for first in range(0, len(records), size):
            some = records[first : first + size]
            rounds = state.rounds + first + np.arange(len(some))
            values = self._values(state, (_form(state, some), some.present, rounds), held)
            told = margins[first : first + size]
            view_walk.predict(state.model.potential, self._teller, supports.coefficients, supports.pasts, values, told)
        return margins

    def pass_by(self, state: ViewState, rounds: int = 1) -> None:
        """End rounds whose labels nobody saw: the mean goes on."""
        state.model.potential.clock[0] += rounds
        state.rounds += rounds

    def weights(self, state: ViewState) -> list[NDArray[np.float64]]:
        """There are none.

        Raises
        ------
        AttributeError
            Always.
        """
        raise AttributeError("a model with kernels has support vectors, not a weight for every feature")

    def dump(self, state: ViewState) -> tuple[dict[str, Any], Arrays]:
        """The state as plain JSON data and named arrays."""
        shape, arrays = flatten(state.model)
        held = {"shape": shape, "widths": list(state.widths), "dense": state.dense}
        return held | {"rounds": state.rounds}, arrays

    def restore(self, data: dict[str, Any], arrays: Arrays, names: Sequence[Hashable]) -> ViewState:
        """Undo :meth:`dump`."""
        model, kernels = rebuild(data["shape"], arrays), by_view(self.kernels, names)
        return ViewState(model, list(names), tuple(data["widths"]), data["dense"], kernels, data["rounds"])


def by_view(kernels: Any, names: Sequence[Hashable]) -> list[Any]:
    """The kernel of each view, of one for all, a list in their order, or a mapping by name.

    Raises
    ------
    ValueError
        If there is not one a view.
    """
    if isinstance(kernels, Mapping):
        _same_views(list(kernels), names)
        return [kernels[name] for name in names]
    if isinstance(kernels, list):
        if len(kernels) != len(names):
            raise ValueError(f"kernels must be one a view: got {len(kernels)} for {len(names)} views")
        return kernels
    return [kernels] * len(names)


def compiled_rule(rule: Any) -> Any:
    """The rule as compiled code takes it; a step at a mistake, or one that reaches a margin."""
    spec.require_part("rule", rule, "PassiveAggressive()")
    if getattr(rule, "tolerance", None) is not None or not hasattr(rule, "compiled"):
        raise TypeError(f"views cannot move by {rule!r}: give Perceptron() or PassiveAggressive()")
    made = rule.compiled()
    if type(made).__name__ not in ("MistakeStep", "HingeStep"):
        raise TypeError(f"views cannot move by {rule!r}: give Perceptron() or PassiveAggressive()")
    return made


def teller(average: bool) -> Any:
    """What tells margins: the mean of the weights, or the latest."""
    return views.Mean(1.0) if average else views.Latest(0.0)


def _same_norm(norm: Any, potential: Any) -> None:
    for name, value in spec.fields_of(norm).items():
        if getattr(potential, name) != value:
            before = getattr(potential, name)
            raise ValueError(f"{name} cannot change once something is learned, from {before!r} to {value!r}: fit anew")


def _same_views(given: Sequence[Hashable], names: Sequence[Hashable]) -> None:
    for name in given:
        if name not in names:
            raise ValueError(f"kernels names the view {name!r}: the views are {', '.join(map(repr, names))}")
    for name in names:
        if name not in given:
            raise ValueError(f"kernels has none for the view {name!r}")


def _form(state: ViewState, records: ViewRecords) -> Any:
    """The records as the model keeps them, views that are absent being empty."""
    rows = as_form(records.rows, state.dense, state.widths)
    return cut(rows, len(state.names), 0, len(records))
