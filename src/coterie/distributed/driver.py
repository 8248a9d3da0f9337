"""Sharded learning from files: common start, splitting into shards, learning, and totals."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

from coterie.data.errors import FieldError, InputError
from coterie.data.readers import TABLES, detect_format, read
from coterie.data.sources import STDIN, Fingerprint, find_paths, fingerprint
from coterie.estimators.selective import base_model
from coterie.evaluation.baselines import CONSTANT, LabelBaselines, LabelCounts
from coterie.evaluation.learning import TOGETHER
from coterie.evaluation.learning import learn as learn_new
from coterie.evaluation.stopping_signals import SaveInterval, Stop
from coterie.evaluation.stream_model import stream_model_of
from coterie.evaluation.trace import Trace
from coterie.evaluation.verdict import Sums, Verdict
from coterie.expressions import LearnerExpression
from coterie.persistence import hold_folder, require_writable
from coterie.types import Estimator, Json

from .folder import MANIFEST, Manifest, ShardedModel, load, new_name, require_place, write_manifest
from .ray_actors import learn_on_ray
from .run import (
    RUN,
    SETTINGS,
    SPLIT,
    START,
    RunSettings,
    ShardState,
    Split,
    load_state,
    read_settings,
    read_split,
    save_state,
    states_of,
    write_json,
)
from .shard import Shard
from .splitting import split_records

#: The number of records of the common start, and the minimum and the maximum number of a block of it.
COMMON_START, _FEW, _BLOCK = 10_000, 100, 1000


@dataclass(frozen=True)
class Progress:
    """The progress of a run: its step (``"split"`` or ``"learn"``), the records processed, and their total if known."""

    step: str
    records: int
    total: int | None = None


@dataclass(frozen=True)
class ShardedOutcome:
    """The result of sharded learning.

    Attributes
    ----------
    folder : Path
        The model: its files and their manifest.
    manifest : Manifest
    sums : Sums
        The learner, its baselines and the constant over the rounds of the common start and all shards.
    baselines : list of str
        The names of the baselines; empty if the learner learned alone.
    reading : dict
        A summary of the records and columns read; see :class:`coterie.data.readers.Reading`.
    seconds : list of float
        CPU seconds of each shard.
    """

    folder: Path
    manifest: Manifest
    sums: Sums
    baselines: list[str]
    reading: Json
    seconds: list[float]

    @property
    def model(self) -> ShardedModel:
        """The sharded model."""
        return load(self.folder)

    def verdict(self, against: str | None = None, confidence: float = 0.95) -> Verdict:
        """Compute the verdict against a baseline, by default one model per task; see :meth:`Comparison.verdict`."""
        verdict = self.sums.verdict(against or next(iter(self.baselines), CONSTANT), confidence)
        if against or not self.baselines:
            return verdict
        return replace(verdict, best=self.sums.verdict(self.sums.best(self.baselines), confidence))


class _Until(Stop):
    """Stops the common start after a number of records, but not before two labels were seen."""

    def __init__(self, wanted: int) -> None:
        super().__init__()
        self.wanted, self.records, self.labels = wanted, 0, 0

    def see(self, traces: Mapping[str, Trace]) -> None:
        """Count the records and labels of a block."""
        trace = next(iter(traces.values()))
        self.records += trace.n
        self.labels = 2 if trace.label.dtype.kind == "f" and not len(trace.classes) else len(trace.classes)
        if self.records >= self.wanted and self.labels > 1:
            self.asked = 0


def learn(
    files: str | PathLike[str] | Iterable[str],
    learner: Estimator,
    *,
    workers: int,
    output: str | PathLike[str],
    address: str | None = None,
    alone: bool = False,
    common_start: int = COMMON_START,
    save_every: str = "5m",
    on_progress: Callable[[Progress], None] | None = None,
    **reading: Any,
) -> ShardedOutcome:
    r"""Learn from files in shards: each task belongs to one of several estimators, which learn in parallel.

    The first records are learned once, and each shard starts with a copy of that model. Then one pass writes the
    records of each shard to separate files, and each shard learns them in a Ray actor (a single shard in this process).
    Shards do not communicate: errors are a little larger than those of one process.

    A run that was killed continues when it is called again with the same arguments; the model is the same to the last
    bit.

    Parameters
    ----------
    files : str or iterable of str
        Files, globs or URLs, read one after the other; not standard input.
    learner : estimator or str
        An unfitted online estimator with tasks, or its expression, as for ``--learner``.
    workers : int
        The number of shards.
    output : path-like
        The folder of the model, new or of an unfinished run. It also has the split records until the end of the run, so
        all machines of a cluster must have access to it.
    address : str, optional
        The address of a Ray cluster; without it Ray is started on this machine.
    alone : bool, default=False
        Leave out the baselines.
    common_start : int, default 10,000
        Records that are learned once for all shards; with 0 the first hundred, or until two labels are known.
    save_every : str, default="5m"
        The interval between saves of a shard, in records, seconds, minutes or hours (``"100000"``, ``"30s"``).
    on_progress : callable, optional
        Called with :class:`Progress`.
    **reading
        Options of :func:`coterie.data.readers.read`: ``task``, ``label`` and others.

    Returns
    -------
    ShardedOutcome

    Raises
    ------
    ValueError
        For a folder with other files, or with a run of other files or arguments.
    InputError
        With file and line, for records that cannot be read or learned.

    Examples
    --------
    >>> import coterie as ct, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> lines = [f"u{i % 7},{i % 3 - 1},{(i % 3 + i % 7) % 2}" for i in range(300)]
    >>> _ = (folder / "clicks.csv").write_text("user,x,click\n" + "\n".join(lines))
    >>> options = {"workers": 1, "output": folder / "clicks", "task": "user", "label": "click"}
    >>> outcome = ct.distributed.learn(str(folder / "clicks.csv"), ct.AdaptiveSharingClassifier(), **options)
    >>> len(outcome.sums.tasks), len(outcome.manifest.shards), outcome.baselines
    (7, 1, ['independent', 'pooled', 'intercepts', 'mixed model', 'running rate'])
    """
    if workers < 1:
        raise FieldError("{} is {n!r}; expected a whole number of 1 or more", "workers", n=workers)
    SaveInterval.from_text(save_every)
    choice = learner
    if not isinstance(learner, LearnerExpression):  # an estimator's repr is its expression
        choice = LearnerExpression(learner if isinstance(learner, str) else repr(learner))
    if base_model(choice.model) is not choice.model:
        raise ValueError(
            "query strategies are not supported with several workers, because queries depend on all records"
        )
    paths, folder = find_paths(files), Path(output).absolute()
    if STDIN in paths:
        raise ValueError("standard input cannot be divided among workers; write it to a file first")
    kind = _kind(paths, reading.get("format"))
    report = on_progress or (lambda progress: None)
    options = {"learner": choice.text, "alone": alone, "common_start": common_start, **reading}
    inputs = [*paths, *choice.files]
    settings = RunSettings(workers, _versions(inputs), json.loads(json.dumps(options, default=repr, sort_keys=True)))
    with _open_run(folder, settings) as run:
        if not (run / START).is_dir():
            save_state(run / START, _common_start(paths, choice, alone, common_start, reading))
        start = load_state(run / START)
        if (run / SPLIT).exists():
            split = read_split(run)
        else:
            encoder = stream_model_of(start.models[TOGETHER]).encoder
            reader = read(paths, **reading, encoder=encoder, skip=start.records)
            models = start.models.values()
            split = split_records(run, reader, models, workers, kind, lambda n: report(Progress("split", n)))
            _require_unchanged(settings.files, _versions(inputs), folder)  # the files were read twice
        _learn_shards(run, split, save_every, address, report)
        return _finish(folder, start, split)


def _kind(paths: list[str], named: str | None) -> str:
    """Return the file format in which records are written to shards: that of the input files, or Arrow."""
    kinds = {detect_format(path, named) for path in paths}
    if kinds <= set(TABLES):
        return "arrow"
    if len(kinds) > 1:
        raise ValueError(f"files of {' and '.join(sorted(kinds))} cannot be learned together; convert one of them")
    return kinds.pop()


@contextmanager
def _open_run(folder: Path, settings: RunSettings) -> Iterator[Path]:
    """Lock the folder, and create or continue a run in it."""
    require_place(folder)
    folder.mkdir(exist_ok=True)
    with hold_folder(folder):
        require_place(folder)
        run = folder / RUN
        run.mkdir(exist_ok=True)
        require_writable(run / MANIFEST)  # a process that dies here leaves a file in the run
        for path in run.glob(".*"):  # of a killed process
            shutil.rmtree(path, ignore_errors=True)
        if (run / SETTINGS).exists():
            _require_same(read_settings(run), settings, folder)
        else:
            write_json(run / SETTINGS, settings)
        yield run


def _require_same(before: RunSettings, now: RunSettings, folder: Path) -> None:
    expected, actual = (
        {"workers": settings.shards, "files": [path for path, _ in settings.files]} | settings.options
        for settings in (before, now)
    )
    for name in expected | actual:
        if expected.get(name) != actual.get(name):
            raise ValueError(
                f"{folder} contains an unfinished run with {name}={expected.get(name)!r}; got "
                f"{actual.get(name)!r}; repeat its command, or name a new folder"
            )
    _require_unchanged(before.files, now.files, folder)


def _versions(paths: Sequence[str]) -> list[tuple[str, Fingerprint]]:
    """Return each path with the size and time of its file, by which changes are detected."""
    return [(path, fingerprint(path)) for path in paths]


def _require_unchanged(
    before: Sequence[tuple[str, Fingerprint]], now: Sequence[tuple[str, Fingerprint]], folder: Path
) -> None:
    for (path, version), (_, present) in zip(before, now, strict=True):
        if version != present:
            raise ValueError(f"{path} has changed since the run in {folder} began; name a new folder")


def _common_start(paths: list[str], choice: LearnerExpression, alone: bool, records: int, reading: Json) -> ShardState:
    """Learn the first records with one model, from which all shards start."""
    reader = read(paths, **reading, block_rows=max(_FEW, min(records, _BLOCK)))
    until = _Until(wanted=records)
    outcome = learn_new(reader, {TOGETHER: choice}, alone=alone, on_round=until.see, stop=until)
    if outcome.failed is not None:
        raise outcome.failed
    if "task" not in outcome.reading.columns:
        raise InputError("has no tasks; several workers need a task column to divide the records", paths[0])
    models = outcome.comparison.models
    sums, label_baselines = Sums(TOGETHER), LabelBaselines()
    label_baselines.predict_next(outcome.trace)
    sums.add(outcome.comparison.traces)
    return ShardState(models, outcome.reading.rows, sums, label_baselines)


def _learn_shards(run: Path, split: Split, every: str, address: str | None, report: Callable[[Progress], None]) -> None:
    total, shards = sum(split.records), len(split.records)
    if shards == 1 and address is None:
        error = Shard(str(run), 0, every).learn()
        if error is not None:
            raise error
        return
    learn_on_ray(run, shards, every, address, lambda records: report(Progress("learn", sum(records.values()), total)))


def _finish(folder: Path, start: ShardState, split: Split) -> ShardedOutcome:
    """Move the models of the shards to the folder, write the manifest, and add up the sums of the shards."""
    run, sums, names, seconds = folder / RUN, start.sums, [], []
    first = start.label_baselines.total
    labels = LabelCounts(first.n, dict(first.sums))
    for shard in range(len(split.records)):
        path = states_of(run, shard)[-1][1]
        names.append(new_name(shard))
        state = load_state(path)
        state.models[TOGETHER].save(folder / names[-1])
        sums = sums.plus(state.sums)
        labels.add_later(state.label_baselines.total, first)
        seconds.append(state.seconds)
    sums.base_rate = labels.base_rate(_positive_label(start.models[TOGETHER]))
    manifest = write_manifest(folder, names, split.records, start.records)
    _remove_run(run)
    baselines = [name for name in sums.pairs if name != CONSTANT] if len(start.models) > 1 else []
    return ShardedOutcome(folder, manifest, sums, baselines, split.reading, seconds)


def _remove_run(run: Path) -> None:
    """Remove the files of a finished run. If the process is killed meanwhile, the same command continues."""
    (run / SPLIT).unlink()  # it names the files of records
    for path in list(run.iterdir()):
        if path.name != SETTINGS:
            path.rename(run / f".{path.name}")  # :func:`_open_run` ignores it, whatever is left of it
    shutil.rmtree(run)


def _positive_label(model: Estimator) -> Hashable:
    """Return the positive label of two classes; None for other kinds of labels."""
    encoder = stream_model_of(model).label_encoder
    classes = [] if encoder.numeric else encoder.classes.tolist()
    return classes[-1] if len(classes) == 2 else None
