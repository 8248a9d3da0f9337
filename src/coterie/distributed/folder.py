"""Sharded models: a folder with one model file per shard and a manifest."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cached_property, partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import msgspec
import numpy as np

import coterie
from coterie.data.label_encoders import ClassLabelEncoder
from coterie.data.raw_records import TableRows, TextRows
from coterie.data.task_names import forget_tasks_by_name
from coterie.evaluation.stream_model import BlockPredictions, stream_model_of
from coterie.persistence import LOCK, hold_folder

from .routing import RULE, ShardNumbers, shard_of
from .run import RUN, write_json

if TYPE_CHECKING:
    from coterie.data.block import Block
    from coterie.data.record_encoders import RecordEncoder
    from coterie.types import Array, Codes, Estimator, Records, Tasks

MANIFEST, VERSION = "manifest.json", 1

ResultT = TypeVar("ResultT")


class ShardFile(msgspec.Struct, frozen=True):
    """The model file of a shard: its name, its SHA-256, and the number of records after the common start."""

    file: str
    digest: str
    records: int


class Manifest(msgspec.Struct, frozen=True):
    """The contents of ``manifest.json``; ``routing`` names the function from tasks to shards."""

    version: Annotated[int, msgspec.Meta(ge=1, le=VERSION)]
    routing: str
    start: int
    shards: Annotated[list[ShardFile], msgspec.Meta(min_length=1)]


def read_manifest(folder: str | PathLike[str]) -> Manifest:
    """Read the manifest of a folder.

    Raises
    ------
    ValueError
        If the folder has no sharded model, or one that this version cannot read.
    """
    path = Path(folder) / MANIFEST
    if not path.is_file():
        if (Path(folder) / RUN).is_dir():
            raise ValueError(f"{folder} contains an unfinished run; repeat its command to continue it")
        raise ValueError(f"{folder} contains no sharded model: {MANIFEST} is missing")
    try:
        manifest = msgspec.json.decode(path.read_bytes(), type=Manifest)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not the manifest of a sharded model: {error}") from None
    if manifest.routing != RULE:
        raise ValueError(f"{path} divides tasks by the rule {manifest.routing!r}; expected {RULE!r}")
    if any(Path(shard.file).name != shard.file for shard in manifest.shards):
        raise ValueError(f"{path} names a file outside its folder")
    return manifest


def write_manifest(folder: Path, names: Iterable[str], records: Iterable[int], start: int) -> Manifest:
    """Write the manifest, and delete model files of an earlier manifest."""
    shards = [ShardFile(name, _digest(folder / name), n) for name, n in zip(names, records, strict=True)]
    manifest = Manifest(VERSION, RULE, start, shards)
    write_json(folder / MANIFEST, manifest)
    _remove_others(folder, manifest)
    return manifest


def _remove_others(folder: Path, manifest: Manifest) -> None:
    """Delete model files that are not in the manifest."""
    for path in folder.glob("shard-*.coterie"):
        if path.name not in {shard.file for shard in manifest.shards}:
            path.unlink()


def new_name(shard: int) -> str:
    """Return an unused name for a shard's model file."""
    return f"shard-{shard:05}-{secrets.token_hex(4)}.coterie"


def load(folder: str | PathLike[str]) -> ShardedModel:
    """Load a sharded model; each shard is loaded when it is first needed.

    Raises
    ------
    ValueError
        If the folder has no sharded model.
    """
    return ShardedModel(folder)


#: The methods that predict each record by its shard, what they say of classes that a shard lacks, and the attributes
#: that all shards have in common.
_METHODS = ("predict", "decision_function", "predict_proba", "predict_interval")
_LACKING = {"predict_proba": 0.0, "decision_function": -np.inf}
_COMMON = ("_many_classes", "encoder_", "feature_names_in_", "n_features_in_")


class ShardedModel:
    """A sharded model: each record is predicted by the shard of its task.

    ``predict``, ``decision_function``, ``predict_proba`` and ``predict_interval`` are those of the shards' estimator,
    and need ``task``.

    Parameters
    ----------
    folder : path-like
        The output of :func:`coterie.distributed.learn`.

    Attributes
    ----------
    manifest : Manifest
    loaded : dict of int to estimator
        The shards read so far.
    """

    def __init__(self, folder: str | PathLike[str]) -> None:
        self._folder, self.manifest = Path(folder), read_manifest(folder)
        self.loaded: dict[int, Estimator] = {}
        self._shard_numbers = ShardNumbers(len(self.manifest.shards))

    def shard(self, number: int) -> Estimator:
        """Return the estimator of a shard, loading it if necessary.

        Raises
        ------
        ValueError
            If its file is missing or has changed.
        """
        if number not in self.loaded:
            self.loaded[number] = _load_shard(self._folder, self.manifest.shards[number])
        return self.loaded[number]

    @cached_property
    def classes_(self) -> Array:
        """The labels of all shards: a class that came after the common start may be known to some of them only."""
        labels = ClassLabelEncoder()
        for number in range(len(self.manifest.shards) if self._many_classes else 1):
            labels.values(self.shard(number).classes_)
        return labels.classes

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of all shards, or a method that predicts each record by its shard."""
        if name in _METHODS:
            getattr(self.shard(0), name)  # raises AttributeError if the estimator has none
            return partial(self._predict, name)
        if name in _COMMON:
            return getattr(self.shard(0), name)
        raise AttributeError(f"a sharded model has no {name!r}; use one of its shards, .shard(number)")

    def _predict(self, method: str, X: Records, task: Tasks, **options: object) -> Array:
        from sklearn.utils import _safe_indexing

        def predict(model: Estimator, rows: Codes) -> Array:
            features, labels = _safe_indexing(X, rows), _safe_indexing(task, rows)
            return self._align(getattr(model, method)(features, task=labels, **options), model, _LACKING.get(method))

        predictions, place = self._by_shard(task, predict)
        return np.asarray(np.concatenate(predictions)[place])

    def __predict_block__(self, block: Block, level: float = 0.9, all_labels: bool = False) -> BlockPredictions:
        """Predict a block of unencoded records; each shard encodes its own records."""

        def predict(model: Estimator, rows: Codes) -> BlockPredictions:
            part = encode_raw(block.take(rows), stream_model_of(model).encoder)
            predictions: BlockPredictions = model.__predict_block__(part, level, all_labels)
            columns = predictions.probabilities
            return (
                predictions if columns is None else predictions._replace(probabilities=self._align(columns, model, 0.0))
            )

        predictions, place = self._by_shard(block.tasks, predict)
        parts = zip(*predictions, strict=True)
        columns = (None if part[0] is None else np.concatenate(part)[place] for part in parts)
        return BlockPredictions(*columns)  # type: ignore[arg-type]

    def _align(self, values: Array, model: Estimator, lacking: float | None) -> Array:
        """Return a shard's columns of classes as those of all shards, with ``lacking`` for those that it lacks."""
        if lacking is None or not self._many_classes or len(model.classes_) == len(self.classes_):
            return values
        if values.ndim == 1:  # the margin of the second of two classes over the first
            values = np.stack([np.zeros(len(values)), values], axis=1)
        columns = self.classes_.tolist()
        aligned = np.full((len(values), len(columns)), lacking)
        aligned[:, [columns.index(label) for label in model.classes_.tolist()]] = values
        return aligned

    def _by_shard(self, tasks: Tasks, predict: Callable[[Estimator, Codes], ResultT]) -> tuple[list[ResultT], Codes]:
        """Predict rows shard by shard; return the results, and the position of each row in them."""
        numbers = self._shard_numbers.look_up(tasks)
        shards = np.unique(numbers).tolist() or [0]  # the first one gives the form for no records
        predictions = [predict(self.shard(shard), np.flatnonzero(numbers == shard)) for shard in shards]
        place: Codes = np.argsort(np.argsort(numbers, kind="stable"), kind="stable")
        return predictions, place


def encode_raw(block: Block, encoder: RecordEncoder | None) -> Block:
    """Encode a block of unencoded records without updating scales; an empty block is returned unchanged."""
    if isinstance(block.X, TextRows):
        return replace(block, X=block.X.X)
    if encoder is None or not isinstance(block.X, TableRows):
        return block
    X = encoder.encode_sound(block.X.columns, False)
    return replace(block, X=X, indicators=encoder.indicator_columns, unseen=encoder.unseen_columns(X))


def forget(folder: str | PathLike[str], tasks: Iterable[str]) -> tuple[list[str], int]:
    """Forget tasks in every shard that knows them, including copies from the common start.

    Returns
    -------
    named : list of str
        The tasks that the relation names, which are still among the tasks.
    known : int
        The number of tasks that are left in their own shards.

    Raises
    ------
    ValueError
        For a task that its shard does not know; nothing is changed.
    """
    folder, names, wanted = Path(folder), [], list(dict.fromkeys(tasks))
    with hold_folder(folder):
        manifest = read_manifest(folder)
        _remove_others(folder, manifest)  # of a process that was killed before it had deleted them
        n = len(manifest.shards)
        models = {shard: _load_shard(folder, file) for shard, file in enumerate(manifest.shards)}
        named: dict[str, None] = {}
        known = 0
        changed = set()
        for shard, model in models.items():
            known_here = set(map(str, model.tasks_))
            own = [task for task in wanted if shard_of(task, n) == shard or str(task) in known_here]
            if own:
                named |= dict.fromkeys(forget_tasks_by_name(model, own, str(folder / manifest.shards[shard].file)))
                changed.add(shard)
            known += sum(shard_of(task, n) == shard for task in model.tasks_)
        for shard, model in models.items():
            names.append(new_name(shard) if shard in changed else manifest.shards[shard].file)
            if shard in changed:
                model.save(folder / names[-1])
        write_manifest(folder, names, [shard.records for shard in manifest.shards], manifest.start)
    return list(named), known


def require_place(folder: Path) -> None:
    """Raise an error unless the folder is new, or has a run that was not finished.

    Raises
    ------
    ValueError
        The message names the folder.
    """
    if not folder.absolute().parent.is_dir():
        raise ValueError(f"there is no folder {str(folder.parent)!r}")
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{str(folder)!r} is a file; several workers write a folder")
    if folder.is_dir() and not (folder / RUN).is_dir():
        if (folder / MANIFEST).exists():
            raise ValueError(f"{str(folder)!r} contains a sharded model; name a new folder")
        if any(path.name != LOCK for path in folder.iterdir()):
            raise ValueError(f"{str(folder)!r} contains other files; name a new folder")


def _load_shard(folder: Path, shard: ShardFile) -> Estimator:
    path = folder / shard.file
    if not path.is_file():
        raise ValueError(f"{path} is missing: the model in {folder} is incomplete")
    if _digest(path) != shard.digest:
        raise ValueError(f"{path} does not match its checksum in the manifest: it was changed")
    return coterie.load(path)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
