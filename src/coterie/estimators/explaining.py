"""Explanations of a model: the features' contributions to a margin, and the largest weights."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie import spec
from coterie._compiled.core.records import Csr, split_unseen
from coterie.data import tabular
from coterie.data.block import Block
from coterie.data.input import ReadContext
from coterie.evaluation.explanation import Explanation, Weights, explanation_of, largest
from coterie.models.contract import Batch
from coterie.types import Array, Record

from .online_model import OnlineModel

#: A label for a task that no record has, and the most weights of tasks that are averaged.
_NOBODY, MOST_WEIGHTS = "", 20_000_000


def weights_of(model: OnlineModel) -> Array:
    """Return the weights of a model on the scale of the labels, as a dense array of shape (n_tasks, n_features)."""
    with model.lock:
        if not model.learner.traits.has_tasks:
            raise AttributeError("a model of several views has weights by view and no coef_")
        return np.asarray(model.label_encoder.factor * model.learner.weights(model.state))


def explain(model: OnlineModel, x: Any, task: Hashable = None) -> Explanation | dict[Hashable, Explanation]:
    """Return the margin of record x as a sum of its features' contributions; for several classes, one sum per class.

    A part is the margin of a record with only this feature, minus that of a record without features.
    """
    with model.lock:
        rows, task, names, original = _row_of(model, x, task)
        tasks = np.empty(len(names) + 1, object)
        tasks.fill(task)
        known, _ = split_unseen(rows, model.state.features)
        alone = known._replace(starts=np.append(0, np.arange(len(names) + 1)))  # no feature, then each feature
        batch = model.population.make_batch(alone, tasks)
        labels, learner = model.label_encoder, model.learner
        whole = learner.predict(model.state, Batch(rows, batch.tasks[:1], batch.unseen[:1])).margins
        margins = np.concatenate([whole, learner.linear_part(model.state, batch, rows)])
        outside = labels.decision(labels.shift + labels.factor * margins)
        values, beyond = known.values.tolist(), learner.traits.beyond_features
        if outside.ndim == 1:
            return explanation_of(names, values, outside, beyond).giving(original)
        columns = zip(labels.ordered, outside.T, strict=True)
        return {label: explanation_of(names, values, part, beyond).giving(original) for label, part in columns}


def largest_weights(
    model: OnlineModel, task: Hashable, n: int, spread: NDArray[np.float64] | None = None
) -> Weights | dict[Hashable, Weights]:
    """Return the largest weights, either a task's own or shared ones; for several classes, those of each class."""
    with model.lock:
        if not model.learner.traits.has_tasks:
            raise ValueError("largest_weights does not support models of several views")
        spec.check_positive("n", n)
        if spread is not None and np.ndim(spread) != 1:
            raise ValueError(
                "spread must have one number per feature; pass spread[name] of one learner in a Comparison"
            )
        own = None if task is None else _unit_margins(model, model.population.number_of(task))
        shared, names = _shared_weights(model), model.input.entry_names
        own = None if own is None else own - shared
        if shared.ndim == 1:
            return largest(names, shared, own, n, spread)
        columns = zip(model.label_encoder.ordered, shared.T, shared.T if own is None else own.T, strict=True)
        return {label: largest(names, mine, None if own is None else its, n, spread) for label, mine, its in columns}


def _unit_margins(model: OnlineModel, number: int, unseen: Sequence[Hashable] = ()) -> NDArray[np.float64]:
    """Return the weights of a task, shape (d,) or (d, classes), computed from margins.

    A weight is the margin of a unit vector minus that of the zero vector; ``number`` is the task's number.
    """
    d, labels = model.state.features, model.label_encoder
    units = Csr(np.ones(d), np.arange(d, dtype=np.int32), np.append(0, np.arange(d + 1)))
    batch = Batch(units, np.full(d + 1, number), list(unseen) * (d + 1))
    outside = labels.decision(labels.shift + labels.factor * model.learner.linear_part(model.state, batch))
    return np.asarray(outside[1:] - outside[0])


def _shared_weights(model: OnlineModel) -> NDArray[np.float64]:
    """Return the weights for unseen tasks; if new tasks change the weights of others, the mean over tasks."""
    if model.learner.traits.tasks_independent:
        return _unit_margins(model, -1, [_NOBODY])
    # a new task would change M, so there are no weights of one without registering it
    n_tasks = max(1, min(len(model.population), MOST_WEIGHTS // max(model.state.features, 1)))
    return np.asarray(np.mean([_unit_margins(model, i) for i in range(n_tasks)], axis=0))


def _row_of(model: OnlineModel, x: Any, task: Hashable) -> tuple[Csr, Hashable, list[Hashable], Record]:
    """Return the entries of record x, its task, the names of the entries, and their values before scaling."""
    if not model.learner.traits.has_tasks:
        raise ValueError("explain does not support records with several views")
    source, reading = model.input, model.settings.reading
    record: Record | None
    if isinstance(x, Mapping):
        record, original = x, x
        rows, _, task = source.read_one(x, task, model.population.tasks, learning=False)
    else:
        x = tabular.one_row(x)
        records = source.read(x, None, None if task is None else [task], ReadContext(model.population.tasks))
        rows, task = records.rows.to_csr(), records.task[0]
        record = tabular.record_of(x)
        original = record or {}
        if record is None and not isinstance(x, Block):
            columns, values = tabular.entries_of(tabular.split_task(x, None, reading.task_column)[0])
            original = dict(zip(source.entry_names(columns), values, strict=True))
    entries = slice(int(rows.starts[0]), int(rows.starts[-1]))
    rows = Csr(rows.values[entries], rows.features[entries], rows.starts - rows.starts[0])
    names = source.entry_names(rows.features[rows.features < model.state.features].tolist(), record)
    return rows, task, names, original
