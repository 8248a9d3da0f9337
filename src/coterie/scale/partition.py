"""Tasks cut into parts that know nothing of each other: which part a task is in, and states cut and joined."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.hypotheses.adaptive import AdaptiveGradient, CoinBetting, DiagonalAROW
from coterie.hypotheses.linear import LinearWeights
from coterie.index import Index
from coterie.numeric.primal.signed import Signed as SignedModel
from coterie.numeric.weights.partition import joined_rows, some_rows
from coterie.relations.levels import LevelRelation
from coterie.round.contract import Size
from coterie.round.linear import LinearLearner
from coterie.state import State
from coterie.wrappers import Signed

Codes = NDArray[np.int64]

#: Hypotheses that keep nothing which all tasks share, but what their relation shares.
OF_ROWS = (AdaptiveGradient, CoinBetting, DiagonalAROW, LinearWeights)


def part_of(task: Hashable, parts: int) -> int:
    """The part that a task is in: the same on every machine and in every process, and for labels that are equal.

    Examples
    --------
    >>> [part_of(task, 4) for task in ("ann", "bob", 17, 17.0)]
    [3, 2, 0, 0]
    """
    return int.from_bytes(blake2b(repr(_alike(task)).encode(), digest_size=8).digest(), "little") % parts


def parts_of(tasks: Sequence[Hashable], parts: int, relation: LevelRelation | None = None) -> Codes:
    """The part of each task; under a relation the tasks of a group are in one."""
    labels = tasks if relation is None else (component_of(relation, task) for task in tasks)
    return np.fromiter((part_of(label, parts) for label in labels), np.int64, len(tasks))


def places_of(part: Codes) -> dict[int, Codes]:
    """The places of the records in each part that has some."""
    return {v: np.flatnonzero(part == v) for v in np.unique(part).tolist()}


def _alike(label: Any) -> Any:
    """The label that stands for all labels that are equal to this one."""
    match label:
        case bool() | np.bool_() | int() | np.integer():
            return int(label)
        case float() | np.floating():
            return int(label) if float(label).is_integer() else float(label)
        case tuple():
            return tuple(map(_alike, label))
        case str():
            return str(label)
    return label


def component_of(relation: LevelRelation, task: Hashable) -> Hashable:
    """A key that a task has in common with all tasks that it learns from: its widest group, or the task itself.

    Examples
    --------
    >>> from coterie import Clusters, Independent
    >>> component_of(Independent(), "ann"), component_of(Clusters({"ann": "north"}), "ann")
    ('ann', ('group', 'north'))
    """
    path = relation.path(task)
    return ("group", path[0]) if path else task


def why_whole(learner: Any) -> str:
    """Why the tasks of a learner cannot be cut into parts, in a few words; empty where they can.

    Examples
    --------
    >>> from coterie import HalfUpdate
    >>> from coterie.rules import Logistic
    >>> why_whole(LinearLearner(AdaptiveGradient(), HalfUpdate(), Logistic()))
    'HalfUpdate() lets every task learn from all others'
    """
    if not has_parts(learner):
        return f"{type(learner).__name__} learns all tasks together"
    hypothesis, relation = learner.hypothesis, learner.relation
    if not by_levels(relation):
        return f"{relation!r} may let every task learn from all others"
    if relation.alike and relation.depth:
        return f"{relation!r} lets every task learn from all others"
    if relation.counts_tasks:
        return f"{relation!r} weighs groups by the tasks known; give a share in place of b"
    if type(hypothesis) not in OF_ROWS:
        return f"{type(hypothesis).__name__} keeps what is of all tasks"
    if type(hypothesis) is CoinBetting and hypothesis.scales != "row":
        return "CoinBetting(scales='feature') has scales of all tasks; scales='row' gives each task its own"
    return ""


def why_no_parts(learner: Any) -> str:
    """Why a learner's state cannot be cut by tasks, what all share being copied to every part; empty where it can."""
    if not has_parts(learner):
        return f"{type(learner).__name__} keeps what is of all tasks"
    hypothesis, relation = learner.hypothesis, learner.relation
    if not by_levels(relation) or relation.counts_tasks:
        return f"{relation!r} is of all tasks"
    if type(hypothesis.hypothesis if type(hypothesis) is Signed else hypothesis) not in OF_ROWS:
        return f"{hypothesis!r} keeps what is of all tasks"
    return ""


def has_parts(learner: Any) -> bool:
    """True of a learner of weights by one hypothesis, relation and rule."""
    return isinstance(learner, LinearLearner)


def by_levels(relation: Any) -> bool:
    """True of a relation of nested groups whose shares are not below zero."""
    return isinstance(relation, LevelRelation) and relation.form == "levels"


def joined(
    learner: LinearLearner, parts: Sequence[State], labels: Sequence[Hashable], part: Codes, number: Codes
) -> State:
    """Join the states of parts: the task ``labels[i]`` is number ``number[i]`` of the part ``part[i]``."""
    features, dense = max(each.features for each in parts), parts[0].dense
    whole = learner.init(Index(labels), Size(features, dense))
    models = [_tables_of(each.model) for each in parts]
    changed = {}
    before = np.cumsum([0, *(each.known for each in parts)])
    order = before[part] + number
    if learner.relation.specific:
        tables = [some_rows(model.tasks, np.arange(each.known)) for model, each in zip(models, parts, strict=True)]
        changed["tasks"] = joined_rows(tables, order, features)
    if learner.relation.depth:  # a group that is in several parts is the same in all
        groups = np.zeros(len(whole.sharing), np.int64)
        first = 0
        for each in parts:
            for path, group in each.sharing.numbers.items():
                groups[whole.sharing.numbers[path]] = first + group
            first += len(each.sharing)
        tables = [
            some_rows(model.groups, np.arange(len(each.sharing))) for model, each in zip(models, parts, strict=True)
        ]
        changed["groups"] = joined_rows(tables, groups, features)
    votes = None
    if _is_signed(whole.model):
        votes = np.concatenate([each.model.votes[: each.known] for each in parts])[order]
    whole.model = _with_tables(whole.model, changed, votes)
    rows = len(labels) if learner.relation.specific else 1
    whole.model = whole.model.fit(learner.hypothesis.tables.fit, len(whole.sharing), rows, features, dense)
    return whole


def some_tasks(learner: LinearLearner, whole: State, tasks: Codes) -> State:
    """The state of some tasks of a state, in this order; they learn from none but each other."""
    labels = whole.labels
    part = learner.init(Index([labels[i] for i in tasks.tolist()]), Size(whole.features, whole.dense))
    held, changed = _tables_of(whole.model), {}
    if learner.relation.specific:
        changed["tasks"] = some_rows(held.tasks, tasks)
    if learner.relation.depth:
        groups = np.zeros(len(part.sharing), np.int64)
        for path, group in part.sharing.numbers.items():
            groups[group] = whole.sharing.numbers[path]
        changed["groups"] = some_rows(held.groups, groups)
    votes = whole.model.votes[tasks] if _is_signed(whole.model) else None
    part.model = _with_tables(part.model, changed, votes)
    rows = len(tasks) if learner.relation.specific else 1
    part.model = part.model.fit(learner.hypothesis.tables.fit, len(part.sharing), rows, whole.features, whole.dense)
    return part


def _is_signed(model: Any) -> bool:
    """True of a model that votes on the signs of tasks, around the one that has the tables."""
    return isinstance(model, SignedModel)


def _tables_of(model: Any) -> Any:
    """The model that has the tables of groups and tasks."""
    return model.model if _is_signed(model) else model


def _with_tables(model: Any, tables: dict[str, Any], votes: Any) -> Any:
    """The same with other tables, and other votes on the tasks' signs where it has such."""
    if _is_signed(model):
        return model._replace(model=model.model._replace(**tables), votes=votes)
    return model._replace(**tables)
