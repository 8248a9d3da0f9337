"""Folder of an unfinished sharded run: settings, split records, and states of shards."""

from __future__ import annotations

import json
import os
import secrets
import shutil
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import numpy as np

from coterie import spec
from coterie.data.sources import Fingerprint
from coterie.evaluation.baselines import LabelBaselines
from coterie.evaluation.verdict import Sums
from coterie.persistence import load, replacing, sync_folder
from coterie.types import Estimator, Json

#: The run in progress, in the folder of the model; within it the settings, the split, and the common start.
RUN, SETTINGS, SPLIT, START = "run", "settings.json", "split.json", "start"
_STATE, _DATA = "state.npz", "data"


class RunSettings(msgspec.Struct, frozen=True):
    """The settings of a run, which must be equal when the run is continued.

    Attributes
    ----------
    shards : int
    files : list of (str, Fingerprint)
        The paths or URLs of the files that are learned, with their sizes and times of writing.
    options : dict
        Options of reading and learning, as data with a JSON form.
    """

    shards: int
    files: list[tuple[str, Fingerprint]]
    options: Json


class Split(msgspec.Struct, frozen=True):
    """The result of splitting: the files of each shard with their numbers of records.

    It is written after all these files are on the disk.

    Attributes
    ----------
    start : int
        The number of records of the common start, which belong to no shard.
    kind : str
        The format of the files of records.
    files : list of list of str
        The names of the files of each shard, in order.
    records : list of int
        The number of records of each shard.
    reading : dict
        A summary of the records and columns read; see :class:`coterie.data.readers.Reading`.
    """

    start: int
    kind: str
    files: list[list[str]]
    records: list[int]
    reading: Json


def write_json(path: Path, data: msgspec.Struct) -> None:
    """Write a structure as JSON, atomically."""
    with replacing(path) as file:
        file.write(msgspec.json.format(msgspec.json.encode(data)))


@dataclass
class ShardState:
    """The state of a shard after a number of records: its learners and sums.

    Attributes
    ----------
    models : dict of str to estimator
        The learner, and the baselines behind it.
    records : int
        The number of records learned, after which to continue in the shard's files.
    sums : Sums
        The sums over the rounds of these records.
    label_baselines : LabelBaselines
        The baselines that see labels only.
    seconds : float
        CPU seconds so far.
    """

    models: dict[str, Estimator]
    records: int
    sums: Sums
    label_baselines: LabelBaselines = field(default_factory=LabelBaselines)
    seconds: float = 0.0


def save_state(path: Path, state: ShardState) -> None:
    """Save the state of a shard as a folder, atomically."""
    sums, arrays = state.sums.to_saved()
    data = {
        "names": list(state.models),
        "records": state.records,
        "seconds": state.seconds,
        "sums": sums,
        "tasks": spec.to_json(list(state.sums.tasks)),
        "labels": {name: spec.to_json(value) for name, value in state.label_baselines.to_saved().items()},
    }
    temporary = path.parent / f".{path.name}-{secrets.token_hex(4)}"
    temporary.mkdir()
    try:
        for i, model in enumerate(state.models.values()):
            model.save(temporary / f"{i}.coterie")
        with (temporary / _STATE).open("wb") as file:
            np.savez(file, **{_DATA: np.array(json.dumps(data))}, **arrays)  # type: ignore[arg-type]
            file.flush()
            os.fsync(file.fileno())
        sync_folder(temporary)
        try:
            temporary.rename(path)
        except OSError:
            if not path.is_dir():  # else it holds the same state already
                raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    sync_folder(path.parent)


def load_state(path: Path) -> ShardState:
    """Load the state of a shard."""
    with np.load(path / _STATE, allow_pickle=False) as file:
        arrays = dict(file)
    data = json.loads(str(arrays.pop(_DATA)))
    models = {name: load(path / f"{i}.coterie") for i, name in enumerate(data["names"])}
    sums = Sums.from_saved(data["names"][0], data["sums"], arrays, spec.labels_of(spec.from_json(data["tasks"])))
    labels = LabelBaselines.from_saved({name: spec.from_json(value) for name, value in data["labels"].items()})
    return ShardState(models, data["records"], sums, labels, data["seconds"])


def state_path(run: Path, shard: int, records: int) -> Path:
    """Return the path of a shard's state after a number of records."""
    return run / f"shard-{shard:05}-{records}"


def states_of(run: Path, shard: int) -> list[tuple[int, Path]]:
    """Return the saved states of a shard as pairs (number of records, path), in order."""
    return sorted((int(path.name.rsplit("-", 1)[1]), path) for path in run.glob(f"shard-{shard:05}-*"))


def read_settings(run: Path) -> RunSettings:
    """Read the settings of a run."""
    return msgspec.json.decode((run / SETTINGS).read_bytes(), type=RunSettings)


def read_split(run: Path) -> Split:
    """Read the index of the shards' files."""
    return msgspec.json.decode((run / SPLIT).read_bytes(), type=Split)
