"""Saved models that commands go on with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .failures import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from coterie.batch.base import BatchEstimator
    from coterie.online.estimator import OnlineEstimator


def load_model(path: Path) -> OnlineEstimator | BatchEstimator:
    """Load a model that learned from files.

    Raises
    ------
    InputError
        It learned from arrays, so that nothing says how to read a file for it.
    """
    from coterie.inputs.errors import InputError

    model: OnlineEstimator | BatchEstimator = load_any(path)
    if hasattr(model, "n_rewards_"):
        raise InputError(
            "holds a bandit, which predicts no labels: coterie serve MODEL lets it choose, coterie bandit FILE ... "
            "--policy MODEL values it",
            str(path),
        )
    if not hasattr(model, "encoder_"):  # an attribute of what is fitted, by scikit-learn's convention
        raise InputError("this model did not learn from a file, so it does not know how to read one", str(path))
    return model


def load_any(path: Path) -> Any:
    """Load a model, also one in parts, as a whole."""
    refuse_service(path)
    if path.is_dir():
        from coterie.scale.sharded import load as load_parts

        return load_parts(path)
    from coterie import load

    return load(path)


def refuse_service(path: Path) -> None:
    """Refuse the folder of a service, which is no model: UsageError saying what can be done with it."""
    if any(path.glob("snapshot-*.coterie")):
        raise UsageError(
            f"{path} is the folder of a service: in Python, coterie.load of its newest snapshot has it as .model, "
            "DELETE /tasks/NAME forgets a task"
        )


def load_online(path: Path) -> OnlineEstimator:
    """Load a model that learned from files and goes on learning.

    Raises
    ------
    UsageError
        It was fitted to all its records at once.
    """
    from coterie.batch.base import BatchEstimator

    model = load_model(path)
    if isinstance(model, BatchEstimator):
        kind = type(model).__name__
        raise UsageError(f"{path} holds a batch model ({kind}): it is for predict, and does not go on learning")
    return model
