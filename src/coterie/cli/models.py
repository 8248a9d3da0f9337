"""Loading of saved models for commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coterie.data.errors import InputError

from .failures import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from coterie.estimators.estimator import OnlineEstimator
    from coterie.types import Estimator


def load_any(path: Path) -> Estimator:
    """Load an estimator; raise UsageError for the folder of a service or of a sharded model."""
    refuse_service(path)
    if path.is_dir():
        from coterie.distributed.folder import read_manifest

        shards = read_manifest(path).shards
        raise UsageError(
            f"{path} holds a model in {len(shards)} shards, for coterie predict and forget: give one of its files, "
            f"such as {path / shards[0].file}; to serve it, run one service for each file, behind a router that sends "
            f"each task to the file of coterie.distributed.shard_of(task, {len(shards)})"
        )
    from coterie import load

    return load(path)


def load_model(path: Path) -> OnlineEstimator:
    """Load a model that was trained from files; raise InputError for other models."""
    model: OnlineEstimator = load_any(path)
    if hasattr(model, "n_rewards_"):
        raise InputError(
            "contains a bandit, which does not predict labels; use coterie serve MODEL to choose actions, or coterie "
            "bandit FILE ... --policy MODEL to evaluate it",
            str(path),
        )
    if not hasattr(model, "encoder_"):  # an attribute of fitted estimators, by scikit-learn's convention
        raise InputError("this model did not learn from a file and cannot read one", str(path))
    return model


def refuse_service(path: Path) -> None:
    """Raise UsageError for the folder of a service."""
    if any(path.glob("snapshot-*.coterie")):
        raise UsageError(
            f"{path} is the folder of a service; in Python, use .model of its newest snapshot, loaded by coterie.load; "
            "DELETE /tasks/NAME forgets a task"
        )
