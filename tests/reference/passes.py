"""Several passes of ``fit``, literally: by ``partial_fit``, copies and what a model file would hold."""

import copy
from typing import Any

import numpy as np


def fit(
    model: Any, X: Any, y: Any, task: Any, most: int, honest: tuple[str, ...] = (), weight: Any = None
) -> tuple[Any, int]:
    """The model that ``fit(n_passes=most)`` should make of one that takes records as they are, and its passes.

    ``honest`` are the beginnings of the names of arrays, in the dump of a state, that later passes do not change.
    """
    n = len(y) - len(y) // 10
    weight = np.ones(len(y)) if weight is None else weight
    model.partial_fit(X[:n], y[:n], task[:n], sample_weight=weight[:n])
    first = dumped(model)
    counts = model.__stream_model__().label_encoder, model.__stream_model__().weighing
    best, least = tried(model, X[n:], y[n:], task[n:], weight[n:])
    for k in range(2, most + 1):
        model.partial_fit(X[:n], y[:n], task[:n], sample_weight=weight[:n])
        put_back(model, first, honest)
        model.__stream_model__().label_encoder, model.__stream_model__().weighing = counts
        after, loss = tried(model, X[n:], y[n:], task[n:], weight[n:])
        if not loss < least:
            return best, k - 1
        best, least = after, loss
    return best, most


def dumped(model: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The state as a file would hold it."""
    inner = model.__stream_model__()
    data, arrays = inner.learner.dump(inner.state)
    return copy.deepcopy(data), copy.deepcopy(arrays)


def put_back(model: Any, first: tuple[dict[str, Any], dict[str, Any]], honest: tuple[str, ...]) -> None:
    """Give the arrays with such names, in any member, the values that they had."""
    inner = model.__stream_model__()
    data, arrays = dumped(model)
    changed = arrays | {
        name: array.copy() for name, array in first[1].items() if any(part in f".{name}" for part in honest)
    }
    inner.population.restore(data, changed, inner.population.tasks)


def tried(model: Any, X: Any, y: Any, task: Any, weight: Any) -> tuple[Any, float]:
    """A copy that has gone over these records, and its mean loss, by predictions made in turn."""
    going, losses = copy.deepcopy(model), []
    for t in range(len(y)):
        losses.append(loss(going, X[t : t + 1], y[t], task[t : t + 1]))
        going.partial_fit(X[t : t + 1], y[t : t + 1], task[t : t + 1], sample_weight=weight[t : t + 1])
    return going, float(np.average(losses, weights=weight))


def loss(model: Any, x: Any, y: Any, task: Any) -> float:
    """The squared error, the log loss, or without probabilities whether the label is wrong."""
    if model._kind == "regressor":
        return float(model.predict(x, task)[0] - y) ** 2
    if not hasattr(model, "predict_proba") or isinstance(y, frozenset):
        return float(model.predict(x, task)[0] != y)
    predictions = dict(zip(model.classes_.tolist(), model.predict_proba(x, task)[0], strict=True))
    return -float(np.log(max(predictions.get(y, 0.0), np.finfo(float).eps)))


#: What later passes leave as it is, in mixtures of classifiers and in models of numbers: the mixing and mixed effects.
OF_MIXTURES = (".losses.", ".layer.", ".members.4.")
OF_NUMBERS = (".model.", ".members.4.", ".members.5.", ".members.6.")
