"""What records that are refused must not leave behind."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

#: What a model notes of the form of its records while it checks them.
NOTED = ("n_features_in_", "feature_names_in_", "view_")


@contextmanager
def all_or_nothing(model: Any) -> Iterator[None]:
    """Take back what a model has noted of the form of its records if they are refused inside."""
    held = model.__dict__
    before = {name: held[name] for name in NOTED if name in held} if model.fitted else {}
    names = len(before.get("view_", ()))
    moments = held["encoder_"].moments.copy() if "encoder_" in held else None
    try:
        yield
    except BaseException:
        for name in NOTED:
            held.pop(name, None)
        held.update(before)
        if "view_" in before:
            before["view_"].shorten(names)
        if moments is not None:
            held["encoder_"].moments = moments
        raise
