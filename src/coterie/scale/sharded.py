"""A model in several files: a folder of model files, each of a part of the tasks, and a manifest that lists them.

A part is a model like any other: it knows its own tasks, and of what all tasks share it has a copy. Together they are
the model, and :func:`load` makes one of them again, to the last bit.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import secrets
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

import coterie
from coterie.evaluation.stream_model import BlockPredictions, stream_model_of
from coterie.index import Index, distinct_labels
from coterie.inputs.block import Block
from coterie.online.model import OnlineModel
from coterie.persistence import LOCK, replacing
from coterie.relations.levels import LevelRelation
from coterie.round.contract import BaseLearner
from coterie.round.population import Population
from coterie.round.together import CompiledMixture

from .lanes import at_once
from .partition import joined, parts_of, places_of, some_tasks, why_no_parts
from .spreading import SpreadLearner, SpreadState, model_of_tasks, without_lanes

Codes = NDArray[np.int64]

MANIFEST, VERSION = "manifest.json", 1
_MOST_PARTS = 65_535
#: Files of such a folder, and what a process has left of them that was killed while it wrote them.
_OURS = re.compile(r"(part-\d{5}-[0-9a-f]{8}\.coterie|order-[0-9a-f]{8}\.npy)(\..*)?")


class SourceFile(msgspec.Struct, frozen=True):
    """A file that was read.

    Attributes
    ----------
    path : str
        Or URL.
    size : int or None
        Its bytes.
    changed : str or None
        When it was last changed.
    end : int or None
        How many records of all there are up to its end, once all of them have been learned.
    """

    path: str
    size: int | None
    changed: str | None
    end: int | None = None


class PartFile(msgspec.Struct, frozen=True):
    """A file of the folder, the SHA-256 of its bytes, and how many tasks a part has."""

    name: str
    digest: str
    tasks: int = 0


class Manifest(msgspec.Struct, frozen=True):
    """The contents of ``manifest.json``.

    Attributes
    ----------
    version : int
        Of the form of the folder.
    parts : list of PartFile
        The model files; a task is in the part of its hash, :func:`coterie.scale.partition.part_of`.
    order : PartFile
        An array that has the part of each task, in the order in which tasks came.
    records : int
        How many records of the sources have been learned.
    sources : list of SourceFile
        What was read.
    options : mapping
        The options under which learning began.
    """

    version: Annotated[int, msgspec.Meta(ge=1)]
    parts: Annotated[list[PartFile], msgspec.Meta(min_length=1, max_length=_MOST_PARTS)]
    order: PartFile
    records: Annotated[int, msgspec.Meta(ge=0)] = 0
    sources: list[SourceFile] = []
    options: dict[str, Any] = {}


def save(
    model: Any,
    folder: str | PathLike[str],
    parts: int,
    records: int = 0,
    sources: Sequence[SourceFile] = (),
    options: Mapping[str, Any] | None = None,
) -> Manifest:
    """Write a model as so many files; the manifest comes last, so that a crash leaves what was there before.

    Parameters
    ----------
    model : online estimator
        Under relations of nested groups, or a mixture of such; it may be learning in lanes, whose states
        are then written one after the other.
    folder : path-like
        Made if it is not there. What a manifest in it names is removed once the new one is in its place.
    parts : int
        How many files.
    records, sources, options
        As the manifest has them.

    Raises
    ------
    ValueError
        If the model has no parts: naming what in it is of all tasks.
    OSError
        If the disk is full or the folder cannot be written; what was there before is untouched.
    """
    if not 1 <= parts <= _MOST_PARTS:
        raise ValueError(f"parts must be from 1 to {_MOST_PARTS:,}, got {parts!r}")
    inner = check_parts(model)
    folder, token = Path(folder), secrets.token_hex(4)
    folder.mkdir(exist_ok=True)
    made: list[Path] = []
    held: list[int] = []
    try:
        with inner.lock:
            learner, state = _apart(inner)
            labels = inner.population.labels
            of = parts_of(labels, parts, _grouping(learner))
            for v in range(parts):
                tasks = np.flatnonzero(of == v)
                index = Index([labels[i] for i in tasks.tolist()])
                population = Population.of(*_cut(learner, state, index, tasks), index)
                made.append(folder / f"part-{v:05}-{token}.coterie")
                _estimator_of(model, _around(inner, population)).save(made[-1])
                held.append(len(tasks))
            made.append(folder / f"order-{token}.npy")
            with replacing(made[-1]) as file:
                np.save(file, of.astype(np.uint16), allow_pickle=False)
        *files, order = [PartFile(each.name, _digest(each), n) for each, n in zip(made, [*held, 0], strict=True)]
        manifest = Manifest(VERSION, files, order, records, list(sources), dict(options or {}))
        with replacing(folder / MANIFEST) as file:
            file.write(msgspec.json.format(msgspec.json.encode(manifest)))
    except BaseException:
        for each in made:
            each.unlink(missing_ok=True)
        raise
    kept = {each.name for each in made}
    for each in list(folder.iterdir()):  # also what a process that was killed while it saved has left
        if _OURS.fullmatch(each.name.removeprefix(".")) and each.name not in kept:
            each.unlink(missing_ok=True)
    return manifest


def save_again(model: Any, folder: str | PathLike[str]) -> Manifest:
    """Write a model in the place of the one in a folder: in as many parts, of the same records of the same files.

    Raises
    ------
    ValueError, OSError
        As :func:`save`, and if the folder holds no model in parts.
    """
    held = read_manifest(folder)
    return save(model, folder, len(held.parts), held.records, held.sources, held.options)


def is_ours(path: Path) -> bool:
    """True of a file that a folder of such a model has, or may have: of any save, and the file that locks it."""
    name = path.name.removeprefix(".")
    return name == LOCK or name.startswith(MANIFEST) or _OURS.fullmatch(name) is not None


def is_sharded(path: str | PathLike[str]) -> bool:
    """True of a folder with a manifest of such a model."""
    with contextlib.suppress(ValueError):
        read_manifest(path)
        return True
    return False


def read_manifest(folder: str | PathLike[str]) -> Manifest:
    """Read the manifest of a folder.

    Raises
    ------
    ValueError
        If it holds no such model, or one of a newer form.
    """
    path = Path(folder) / MANIFEST
    if not path.is_file():
        raise ValueError(f"{folder} holds no model in parts: there is no {MANIFEST} in it")
    try:
        found = msgspec.json.decode(path.read_bytes(), type=Manifest)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is no manifest of a model in parts: {error}") from None
    if found.version > VERSION:
        raise ValueError(f"{path} has form {found.version}, and this version of coterie reads up to {VERSION}")
    if any(Path(each.name).name != each.name for each in (*found.parts, found.order)):
        raise ValueError(f"{path} names a file that is not in its folder")
    return found


def load(folder: str | PathLike[str]) -> Any:
    """Read a model that :func:`save` wrote as one: the same to the last bit.

    Raises
    ------
    ValueError
        If a part is missing, or is not the one that was written, or parts do not fit together.
    """
    manifest, folder = read_manifest(folder), Path(folder)
    parts = [_load_part(folder, each) for each in manifest.parts]
    of = _load_order(folder, manifest)
    inners = [check_parts(each) for each in parts]
    learners, states = zip(*(_apart(inner) for inner in inners), strict=True)
    grouping = _grouping(learners[0])
    labels: list[Hashable] = [None] * len(of)
    number = np.zeros(len(of), np.int64)
    for v, inner in enumerate(inners):
        mine, tasks = np.flatnonzero(of == v), inner.population.labels
        if len(mine) != len(tasks) or (parts_of(tasks, len(parts), grouping) != v).any():
            raise ValueError(f"{folder / manifest.parts[v].name} has other tasks than {manifest.order.name} says")
        number[mine] = np.arange(len(mine))
        for i, task in zip(mine.tolist(), tasks, strict=True):
            labels[i] = task
    index = Index(labels)
    whole = _joined(learners[0], states, index, of, number)
    data, arrays = learners[0].dump(whole)
    inners[0].population.restore(data, arrays, index)
    return parts[0]


#: What a model in parts has of its parts: what asks the part of each record, and what is the same in all.
_ASKED = ("predict", "decision_function", "predict_proba", "predict_interval")
_COMMON = ("_many_classes", "classes_", "encoder_", "feature_names_in_", "n_features_in_")


class ShardedModel:
    """A model in parts that predicts: a part is read when a record of its tasks comes.

    ``predict``, ``decision_function``, ``predict_proba`` and ``predict_interval`` are those of the model's estimator,
    with ``task`` given.

    Parameters
    ----------
    folder : path-like
        Where :func:`save` wrote it.
    workers : int
        How many parts predict at a time.

    Attributes
    ----------
    loaded : dict of int to estimator
        The parts read so far.
    """

    def __init__(self, folder: str | PathLike[str], workers: int = 1) -> None:
        self._folder, self.manifest, self._workers = Path(folder), read_manifest(folder), workers
        self.loaded: dict[int, Any] = {}

    def part(self, v: int) -> Any:
        """The model of a part."""
        if v not in self.loaded:
            self.loaded[v] = _load_part(self._folder, self.manifest.parts[v])
        return self.loaded[v]

    def __getattr__(self, name: str) -> Any:
        """An attribute that all parts have in common; ``predict`` and similar methods ask the part of each record."""
        if name in _ASKED:
            getattr(self.part(0), name)  # which has no probabilities, if the model has none
            return partial(self._asked, name)
        if name in _COMMON:
            return getattr(self.part(0), name)
        raise AttributeError(f"a model in parts has no {name!r}: coterie.scale.load makes one model of the parts")

    def _parts_of(self, tasks: Any) -> NDArray[np.int64]:
        """The part that each record's task is in; where that has no task at all, the first that has one."""
        distinct, codes = distinct_labels(tasks)
        learner = stream_model_of(self.part(0)).learner
        of = parts_of(distinct, len(self.manifest.parts), _grouping(learner))
        known = np.array([each.tasks > 0 for each in self.manifest.parts])
        return np.where(known[of], of, np.argmax(known))[codes]

    def _by_part(self, tasks: Any, ask: Callable[[Any, Codes], Any]) -> tuple[list[Any], Codes]:
        """The result of each part for its records, and the order that puts these results in the records' order."""
        places = places_of(self._parts_of(tasks)) or {0: np.zeros(0, np.int64)}
        jobs = [partial(ask, self.part(v), at) for v, at in places.items()]
        return at_once(jobs, self._workers), np.argsort(np.concatenate(list(places.values())), kind="stable")

    def _asked(self, method: str, X: Any, task: Any, **given: Any) -> NDArray[Any]:
        from sklearn.utils import _safe_indexing

        def ask(part: Any, at: Codes) -> Any:
            return getattr(part, method)(_safe_indexing(X, at), task=_safe_indexing(task, at), **given)

        made, order = self._by_part(task, ask)
        return np.asarray(np.concatenate(made)[order])

    def __predict_block__(self, block: Block, level: float = 0.9, all_labels: bool = False) -> BlockPredictions:
        """The prediction for each record of a block that was read from a file."""

        def ask(part: Any, at: Codes) -> Any:
            return part.__predict_block__(block.take(at), level, all_labels)

        made, order = self._by_part(block.tasks, ask)
        columns = (None if each[0] is None else np.concatenate(each)[order] for each in zip(*made, strict=True))
        return BlockPredictions(*columns)  # type: ignore[arg-type]


def check_parts(model: Any, learned: bool = True) -> OnlineModel:
    """The inner model of an estimator that can be written in parts, once it has ``learned``.

    Raises
    ------
    ValueError
        For another one, saying why.
    """
    inner = model_of_tasks(model)
    if inner is None:
        raise ValueError("the model cannot be written in parts: it is no online model of tasks")
    why = _why_none(inner.learner)
    if inner.settings.max_tasks is not None:
        why = "with max_tasks the order in which tasks were seen is of all of them"
    if learned and inner.state is None:
        why = "it has learned nothing"
    if why:
        raise ValueError(f"the model cannot be written in parts: {why}")
    return inner


def _why_none(learner: BaseLearner) -> str:
    """Why a learner's state cannot be cut by tasks; empty where it can."""
    plain = without_lanes(learner)
    if not plain.members():
        return why_no_parts(plain)
    return next(filter(None, (_why_none(each) for _, each in plain.members())), "")


def _apart(inner: OnlineModel) -> tuple[BaseLearner, Any]:
    """A learner whose members' states are their own, and its state: that of a compiled mixture is copied."""
    learner, state = inner.learner, inner.state
    made = _uncompiled(learner)
    if made is learner:
        return learner, state
    return made, made.restore(*learner.dump(state), inner.population.tasks)


def _uncompiled(learner: BaseLearner) -> BaseLearner:
    """The same learner with no compiled mixture in it."""
    if isinstance(learner, CompiledMixture):
        return learner.apart(learner.learners)
    inner = [(each, _uncompiled(each)) for _, each in learner.members()]
    made: Any = learner
    return learner if all(each is one for each, one in inner) else made.apart([one for _, one in inner])


def _cut(learner: Any, state: Any, index: Index, tasks: Codes) -> tuple[BaseLearner, Any]:
    """A learner without lanes, and the state of some tasks, which the index numbers."""
    if isinstance(learner, SpreadLearner):
        if learner.parts > 1:
            lanes = np.unique(state.part[tasks])
            if np.array_equal(np.flatnonzero(np.isin(state.part, lanes)), tasks):
                return learner.learner, _of_lanes(learner.learner, state, lanes, tasks)
        return _cut(learner.learner, learner.whole(state), index, tasks)
    if learner.members():
        cuts = [_cut(each, inner, index, tasks) for each, inner in learner.pairs(state)]
        plain = learner.apart([each for each, _ in cuts])
        return plain, plain.some_tasks(state, [some for _, some in cuts], index, tasks)
    some = some_tasks(learner, state, tasks)
    some.rounds = state.rounds
    return learner, _with_scales(some, state)


def _of_lanes(learner: Any, state: SpreadState, lanes: Codes, tasks: Codes) -> Any:
    """The state of the tasks of some lanes, without bringing the others here."""
    if len(tasks):
        parts = [state.lanes[v].state() for v in lanes.tolist()]
        labels, of = state.tasks.labels, np.searchsorted(lanes, state.part[tasks])
        some = joined(learner, parts, [labels[i] for i in tasks.tolist()], of, state.number[tasks])
    else:
        some = some_tasks(learner, state.lanes[0].state(), tasks)
    some.rounds = state.rounds
    return some


def _joined(learner: Any, parts: Sequence[Any], index: Index, of: Codes, number: Codes) -> Any:
    """The state of all tasks, in their order, of the states of parts."""
    if learner.members():
        several = zip(*(list(learner.pairs(part)) for part in parts), strict=True)
        members = [_joined(each[0][0], [inner for _, inner in each], index, of, number) for each in several]
        return learner.all_tasks(parts, members, index, [np.flatnonzero(of == v) for v in range(len(parts))])
    whole = joined(learner, parts, index.labels, of, number)
    whole.rounds = parts[0].rounds
    return _with_scales(whole, parts[0])


def _with_scales(state: Any, like: Any) -> Any:
    """A state with the scales of coin betting that another one has, where these are of all tasks."""
    if hasattr(like.model, "largest"):
        state.model = state.model._replace(largest=like.model.largest)
    return state


def _around(inner: OnlineModel, population: Population) -> OnlineModel:
    """Another model with this population, to be saved; all else it shares with the first."""
    made = OnlineModel(inner.input)
    learner = population.learner
    made.parameters, made.settings = inner.parameters, replace(inner.settings, learner=learner, decider=learner)
    made.labels, made.weighing, made.population = inner.labels, inner.weighing, population
    return made


def _estimator_of(model: Any, inner: OnlineModel) -> Any:
    made = type(model)(**model.get_params(deep=False))
    made.__stream_model__().replace(inner)
    return made


def _grouping(learner: Any) -> LevelRelation | None:
    """The first relation of a learner's members by which some tasks have groups that others have not."""
    plain = without_lanes(learner)
    if plain.members():
        return next(filter(None, (_grouping(each) for _, each in plain.members())), None)
    relation: LevelRelation = plain.relation
    return None if relation.alike else relation


def _load_part(folder: Path, part: PartFile) -> Any:
    path = folder / part.name
    _require_same(path, part)
    return coterie.load(path)


def _load_order(folder: Path, manifest: Manifest) -> Codes:
    path = folder / manifest.order.name
    _require_same(path, manifest.order)
    with path.open("rb") as file:
        try:
            found = np.load(file, allow_pickle=False)
        except (ValueError, EOFError, OSError) as error:
            raise ValueError(f"{path} is no array: {error}") from None
    if found.ndim != 1 or found.dtype != np.uint16 or (len(found) and found.max() >= len(manifest.parts)):
        raise ValueError(f"{path} has parts that are not there")
    return np.asarray(found, np.int64)


def _require_same(path: Path, part: PartFile) -> None:
    if not path.is_file():
        raise ValueError(f"{path} is missing: the model in {path.parent} is not whole")
    if _digest(path) != part.digest:
        raise ValueError(f"{path} is not the file that was written: its checksum is another")


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
