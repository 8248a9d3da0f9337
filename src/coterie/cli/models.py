"""Saved models as commands take them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from coterie.cli.failures import UsageError

if TYPE_CHECKING:
    from pathlib import Path


def load_model(path: Path) -> Any:
    """A saved model that learned from files.

    Raises
    ------
    InputError
        It learned from arrays, so that nothing says how to read a file for it.
    """
    from coterie import load
    from coterie.streams.errors import InputError

    model = load(path)
    if not hasattr(model, "encoder_"):
        raise InputError("this model did not learn from a file, so it does not know how to read one", str(path))
    return model


def load_online(path: Path) -> Any:
    """A saved model that learned from files and goes on learning.

    Raises
    ------
    UsageError
        It was fitted to all its records at once.
    """
    from coterie.streams.progressive import goes_on

    model = load_model(path)
    if not goes_on(model):
        kind = type(model).__name__
        raise UsageError(f"{path} holds a batch model ({kind}): it is for predict, and does not go on learning")
    return model
