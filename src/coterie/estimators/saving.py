"""Conversion of online models to JSON data and named arrays, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from coterie.types import Arrays, Json

from .model import OnlineModel
from .weighing import BALANCED, Weighing


def saved(model: OnlineModel) -> tuple[Json, Arrays]:
    """Return the learned state as JSON data and named arrays."""
    with model.lock:
        if model.state is None:
            return {}, {}
        state, arrays = model.population.dump()
        noted, more = model.input.to_saved()
        data = {"state": state, **noted, "labels": model.label_encoder.inside}
        if model.learner.traits.has_tasks:
            data["tasks"] = list(model.population.tasks.labels)  # the list goes on growing
        if model.settings.class_weight == BALANCED:
            data["label_counts"] = model.weighing.to_saved()
        return data, arrays | more


def restore(model: OnlineModel, data: Mapping[str, Any], arrays: Arrays) -> None:
    """Restore the result of :func:`saved`.

    Raises
    ------
    ValueError
        If the data and the arrays are nothing that a model of these parameters can have learned.
    """
    if not data:
        return
    of_records = ("encoder.", "preparation.")
    own = {name: array for name, array in arrays.items() if not name.startswith(of_records)}
    with model.lock:
        model.fast_path = None
        model.population.restore(data["state"], own, model.input.index_of(data))
        labels = model.settings.labels(data["labels"])
        labels.require_sound(model.learner.models(model.state))
        if model.settings.class_weight == BALANCED:
            model.weighing = Weighing.restored(BALANCED, data.get("label_counts"))
        model.input.from_saved(data, arrays, model.state)
        model.label_encoder = labels
