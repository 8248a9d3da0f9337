"""Saved models that commands go on with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .failures import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from coterie.batch.base import BatchEstimator
    from coterie.online.estimator import OnlineEstimator


def load_model(path: Path) -> OnlineEstimator | BatchEstimator:
    """Load a model that learned from files, also one in shards.

    Raises
    ------
    InputError
        It learned from arrays, so that nothing says how to read a file for it.
    """
    from coterie.inputs.errors import InputError

    if path.is_dir():
        from coterie.scale import load

        refuse_service(path)
        return load(path)  # type: ignore[return-value]
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
    """Load a model; of a folder with a model in shards a sentence says what to load."""
    refuse_service(path)
    refuse_shards(path)
    from coterie import load

    return load(path)


def refuse_service(path: Path) -> None:
    """Refuse the folder of a service, which is no model: UsageError saying what can be done with it."""
    if any(path.glob("snapshot-*.coterie")):
        raise UsageError(
            f"{path} is the folder of a service: in Python, coterie.load of its newest snapshot has it as .model, "
            "DELETE /tasks/NAME forgets a task"
        )


def refuse_shards(path: Path) -> None:
    """Refuse a model in shards: UsageError saying what can be done with it."""
    if path.is_dir():
        from coterie.scale.folder import read_manifest

        shards = read_manifest(path).shards
        raise UsageError(
            f"{path} holds a model in {len(shards)} shards, for coterie predict and forget: give one of its files, "
            f"such as {path / shards[0].file}; to serve it, run one service for each file, behind a router that sends "
            f"each task to the file of coterie.scale.shard_of(task, {len(shards)})"
        )


def load_online(path: Path) -> OnlineEstimator:
    """Load a model that learned from files and goes on learning.

    Raises
    ------
    UsageError
        It was fitted to all its records at once.
    """
    from coterie.batch.base import BatchEstimator

    refuse_shards(path)
    model = load_model(path)
    if isinstance(model, BatchEstimator):
        kind = type(model).__name__
        raise UsageError(f"{path} holds a batch model ({kind}): it is for predict, and does not go on learning")
    return model
