"""Training with several passes over a data set, and early stopping by the loss on its last tenth."""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

from numpy.typing import ArrayLike

from coterie import spec, types
from coterie.data.block import Block
from coterie.evaluation.progressive import ProgressiveRun, count_learned
from coterie.evaluation.trace import weighted_mean
from coterie.types import Array, Inputs, Tasks

from .online_model import OnlineModel

#: The maximum number of passes of ``n_passes="auto"``.
MOST = 20

#: The records held out to decide when to stop are one in ``PART``; with fewer than ``FEWEST`` records there are none.
PART, FEWEST = 10, 20

AUTO = "auto"


def most_passes(n_passes: Any) -> int:
    """Return the maximum number of passes (a constant for "auto"); raise ValueError for invalid numbers."""
    if isinstance(n_passes, str) and n_passes == AUTO:
        return MOST
    spec.Setting(kind="whole", at_least=1, must="be a whole number of 1 or more or 'auto'").check("n_passes", n_passes)
    return int(n_passes)


class Tried(NamedTuple):
    """A copy of the model after some passes over all but the last tenth of the data, and its loss on that tenth."""

    loss: float
    model: OnlineModel


def learn_passes(
    model: OnlineModel, X: Inputs, y: types.Labels, task: Tasks | None, weights: ArrayLike | None, most: int
) -> OnlineModel:
    """Learn records in several passes, at most ``most``; return the model after the best number of passes.

    The model learns the first nine tenths in each pass. After each pass a copy learns the last tenth. The first pass
    after which the loss there does not fall ends the search, and the copy before it is the result.

    Stacking weights must be learned from out-of-sample predictions: from the first pass and from the last tenth.
    Therefore they, and the moments or counts of labels, are reset to that after each later pass.

    Parameters
    ----------
    model : OnlineModel
        An unfitted model; it is changed in place.
    X, y, task, weights
        The records, their labels, tasks and weights; fewer than 20 are learned in one pass.
    most : int
        The largest number of passes.

    Raises
    ------
    ValueError
        For an ensemble with ``max_tasks``.
    """
    traits = model.learner.traits
    if traits.mixes and model.population.recency is not None:
        raise ValueError(
            f"several passes are not supported with max_tasks={model.settings.max_tasks}: tasks forgotten in the first "
            "pass would start again; leave out one of them"
        )
    block = model.as_block(X, y, task, weights, whole=True)
    length = count_learned(block.y, block.weight)
    if len(block) < FEWEST:
        model.learn(block, length=length)
        return model
    split = len(block) - len(block) // PART
    first, rest = block.piece(0, split), block.piece(split, len(block))
    model.learn(first, length=length)
    labels, weighing, mixing = model.label_encoder, model.weighing, [array.copy() for array in _mixing_arrays(model)]
    best = _tried(model, rest)
    for _ in range(most - 1):
        model.learn(first)
        # moments of labels must not count records twice
        model.label_encoder, model.weighing = labels, weighing
        # the last step would learn that members know their own training records, and trust them too much
        for array, before in zip(_mixing_arrays(model), mixing, strict=True):
            array[: len(before)] = before
        tried = _tried(model, rest)
        # a NaN loss ends the search, too
        if not tried.loss < best.loss:
            break
        best = tried
    return best.model


def _mixing_arrays(model: OnlineModel) -> list[Array]:
    """Return the arrays of the model that learn from predictions, such as expert losses.

    Later passes must not update them again, because they have seen the labels.
    """
    return [array for learner, state in model.learner.walk(model.state) for array in learner.mixing_arrays(state)]


def _tried(model: OnlineModel, rest: Block) -> Tried:
    going = copy.deepcopy(model)
    run = ProgressiveRun(going, (), delay=0)
    run.predict_and_learn(rest)
    trace = run.trace()
    losses = trace.losses
    return Tried(weighted_mean(trace.costs if losses is None else losses, trace.weight), going)
