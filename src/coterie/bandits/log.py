"""Logs of bandit decisions, for off-policy evaluation."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence, Set
from typing import TYPE_CHECKING

import numpy as np

from coterie.types import AnyLabels, AnyRecords, AnyTasks, Flags, Floats, Ints, Label, Record
from coterie.wording import counted, listed

from .contextual_bandit import action_of, contexts_of, require_list

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from coterie.types import Labels, Records

    from .crossed_input import Action


#: The allowed difference of the sum of probabilities from 1; logged probabilities are rounded.
ROUNDED = 1e-3


class BanditLog:
    """A log of bandit decisions, one per row in order of time, from columns, arrays or lists.

    Parameters
    ----------
    x : records or None
        The contexts: a frame, a list of dictionaries, or an array of n rows, whose columns are ``x0``, ``x1``, ...
    action : array-like of n
        The action shown: a label, a dictionary of features, or a :class:`coterie.bandits.contextual_bandit.Choice`.
    reward : array-like of n numbers
        The rewards.
    probability : array-like of n numbers, optional
        The probability of the action shown, above 0.
    probabilities : array-like or frame, shape (n, K), or a list of n lists, optional
        The probabilities of all actions of the row, in their order; reliable intervals need them. The columns of a
        frame are the actions' labels.
    actions : list, optional
        The actions offered: a list for all rows, or a list of n lists. By default the labels that were shown.
    task : array-like of n labels, optional
        The task of each row.

    Raises
    ------
    ValueError
        If anything is missing, has another length, or is not a valid probability or number.

    Examples
    --------
    >>> log = BanditLog(None, ["a", "b", "a"], [1, 0, 1], probabilities=[[0.8, 0.2]] * 3, actions=["a", "b"])
    >>> log
    BanditLog of 3 choices among 2 actions, with the probabilities of all
    >>> log.shown.tolist(), log.probability.tolist()
    ([0, 1, 0], [0.8, 0.2, 0.8])
    """

    #: The context of each row.
    x: Sequence[Record]
    #: The actions of each row.
    actions: Sequence[Sequence[Action]]
    #: The index of the shown action in its row.
    shown: Ints
    reward: Floats
    #: That of the action shown.
    probability: Floats
    #: Those of all actions, shape (n, K); 0 beyond a row's actions. None if they were not logged.
    probabilities: Floats | None
    task: Sequence[Hashable]

    def __init__(
        self,
        x: Records | None,
        action: Labels | Sequence[Action],
        reward: ArrayLike,
        *,
        probability: ArrayLike | None = None,
        probabilities: AnyLabels = None,
        actions: Sequence[Action] | None = None,
        task: AnyTasks = None,
    ) -> None:
        if (probability is None) == (probabilities is None):
            had = "neither" if probability is None else "both"
            raise ValueError(
                f"a log needs the probability of the chosen action or the probabilities of all actions, got {had}"
            )
        chosen = [action_of(value) for value in _listed(action)]
        n = len(chosen)
        if not n:
            raise ValueError("the log is empty: expected at least one choice")
        self.x = [{}] * n if x is None else contexts_of(x)
        self.task = [None] * n if task is None else _listed(task)
        rewards = _listed(reward)
        for name, column in (("x", self.x), ("reward", rewards), ("task", self.task)):
            _refuse_length(name, column, n)
        self.reward = _numbers("reward", rewards)
        _refuse_rows("reward", self.reward, np.isfinite(self.reward), "expected a finite number")
        self.actions = _actions(chosen, actions, probabilities)
        self.shown = np.array(
            [_place(i, value, among) for i, (value, among) in enumerate(zip(chosen, self.actions, strict=True))]
        )
        self.probabilities = None
        if probabilities is not None:
            self.probabilities = distributions("probabilities", probabilities, self.actions)
            self.probability = self.probabilities[np.arange(n), self.shown]
        else:
            shown_probability = _listed(probability)
            _refuse_length("probability", shown_probability, n)
            self.probability = _numbers("probability", shown_probability)
        fine = (self.probability > 0) & (self.probability <= 1)
        _refuse_rows("the probability of the action shown", self.probability, fine, "expected above 0 and at most 1")

    def __len__(self) -> int:
        return len(self.reward)

    def __repr__(self) -> str:
        sizes = {len(offered) for offered in self.actions}
        among = counted(max(sizes), "action") if len(sizes) == 1 else f"{min(sizes)} to {max(sizes)} actions"
        known = "of what was shown" if self.probabilities is None else "of all"
        return f"BanditLog of {counted(len(self), 'choice')} among {among}, with the probabilities {known}"


def distributions(name: str, values: AnyLabels, actions: Sequence[Sequence[Action]]) -> Floats:
    """Convert the action probabilities of all rows to an array, padded with 0; raise ValueError for invalid ones.

    >>> distributions("pi", [[0.5, 0.5], [1]], [["a", "b"], ["b"]])
    array([[0.5, 0.5],
           [1. , 0. ]])
    """
    result = matrix(name, values, actions)
    _refuse_rows(name, result, np.all((result >= 0) & (result <= 1), axis=1), "expected numbers between 0 and 1")
    sums = result.sum(axis=1)
    _refuse_rows(f"the sum of {name}", sums, np.abs(sums - 1.0) <= ROUNDED, "expected 1")
    return result


def matrix(name: str, values: AnyLabels, actions: Sequence[Sequence[Action]]) -> Floats:
    """Convert one number per row and action to an array, padded with 0 for rows with fewer actions.

    If all rows have the same actions, the columns of a frame are selected by their names.

    >>> matrix("pi", [{"b": 0.2, "a": 0.8}], [["a", "b"]])
    array([[0.8, 0.2]])
    """
    if hasattr(values, "columns") and all(row_actions is actions[0] for row_actions in actions):
        values = _by_label(name, values, actions[0])
    rows = _listed(values)
    _refuse_length(name, rows, len(actions))
    for i, among in enumerate(actions):
        rows[i] = row = _by_action(f"{name} of row {i}", rows[i], among)
        if len(row) != len(among):
            raise ValueError(
                f"{name} of row {i}: {counted(len(row), 'number')}, expected one for each of {len(among)} actions"
            )
    result = np.zeros((len(rows), max(map(len, actions))))
    for i, row in enumerate(rows):
        result[i, : len(row)] = _numbers(f"{name} of row {i}", row)
    return result


def _actions(
    chosen: Sequence[Action], actions: Sequence[Action] | None, probabilities: AnyLabels
) -> Sequence[Sequence[Action]]:
    """Return the actions of each row of a log; rows with equal actions share one list."""
    if actions is None and hasattr(probabilities, "columns"):
        actions = _names(probabilities)
    if actions is None:
        if probabilities is not None or any(isinstance(action, Mapping) for action in chosen):
            raise ValueError("actions is missing: pass the actions in the order of the probabilities")
        actions = list(dict.fromkeys(chosen))
    require_list(actions)
    lists = _listed(actions)
    if not any(isinstance(action, list) for action in lists):
        _refuse_equal("actions", lists)
        return [lists] * len(chosen)
    _refuse_length("actions", lists, len(chosen))
    known: dict[tuple[Hashable, ...], list[Action]] = {}
    rows = []
    for i, action in enumerate(map(_listed, lists)):
        labels = None if any(isinstance(one, Mapping) for one in action) else tuple(action)
        row = action if labels is None else known.setdefault(labels, action)
        if row is action:
            _refuse_equal(f"actions of row {i}", action)
        rows.append(row)
    return rows


def _refuse_equal(name: str, actions: list[Action]) -> None:
    """Raise ValueError if ``actions`` is empty, or has duplicates; ``name`` is the argument in the message."""
    if not actions:
        raise ValueError(f"{name}: got none, expected at least one")
    for k, action in enumerate(actions):
        if actions.index(action) < k:
            raise ValueError(f"{name}: {action!r} occurs twice; expected distinct actions")


def _place(i: int, action: Action, among: Sequence[Action]) -> int:
    """Return the index of an action among those of row i; raise ValueError if it is not one of them."""
    try:
        return among.index(action)
    except ValueError:
        raise ValueError(f"row {i}: {action!r} was chosen, but is not among its actions {listed(among)}") from None


def _names(frame: AnyRecords) -> list[Label]:
    """Return the column names of a frame."""
    return _listed(getattr(frame, "column_names", frame.columns))


def _by_label(name: str, frame: AnyRecords, actions: Sequence[Action]) -> list[list[Label]]:
    """Return the rows of a frame with its columns in the order of the actions."""
    names = _names(frame)
    if set(names) != set(actions):
        raise ValueError(f"{name}: its columns are {listed(names)}, expected the actions {listed(actions)}")
    return list(map(list, zip(*(_listed(frame[action]) for action in actions), strict=True)))


def _by_action(name: str, row: AnyLabels, actions: Sequence[Action]) -> list[Label]:
    """Return the numbers of a row in the order of its actions.

    A dictionary or a row of a frame has the actions as keys.
    """
    keys = list(row.keys()) if hasattr(row, "keys") else []
    if len(keys) == len(actions) and all(action in keys for action in actions):
        return [row[action] for action in actions]
    if isinstance(row, (str, Mapping, Set)) or not hasattr(row, "__iter__"):
        raise ValueError(f"{name}: got {row!r}, expected one number for each of the actions {listed(actions)}")
    return _listed(row)


def _listed(values: AnyLabels) -> list[Label]:
    """Convert an array, a column or a list to a list of Python objects."""
    for method in ("to_pylist", "to_list", "tolist"):
        if hasattr(values, method):
            entries = getattr(values, method)()
            return entries if isinstance(entries, list) else [entries]
    return list(values)


def _numbers(name: str, values: AnyLabels) -> Floats:
    """Convert a column to an array of floats."""
    try:
        result = np.array([np.nan if value is None else value for value in values], np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name}: expected one number per row") from None
    if result.ndim != 1:
        raise ValueError(f"{name}: expected one number per row")
    return result


def _refuse_length(name: str, values: AnyLabels, n: int) -> None:
    """Raise ValueError unless ``values`` has n entries; ``name`` is the argument in the message."""
    if len(values) != n:
        raise ValueError(f"{name}: {counted(len(values), 'row')}, expected the {n} of the log")


def _refuse_rows(name: str, values: Floats, fine: Flags, expected: str) -> None:
    """Raise ValueError for the first row that is False in the mask ``fine``; ``expected`` describes valid values."""
    if not fine.all():
        i = int(np.argmin(fine))
        raise ValueError(f"{name}: got {values[i].tolist()} in row {i}, {expected}")
