"""Checkpoints: folders that say how far learning has come, from which it goes on as if nothing had happened."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from coterie.inputs.errors import FieldError
from coterie.io.sources import STDIN, fingerprint
from coterie.io.urls import is_url
from coterie.persistence import hold_folder, require_writable

from .sharded import MANIFEST, Manifest, SourceFile, is_ours, load, read_manifest, save

if TYPE_CHECKING:
    from coterie.io.readers import Reader


#: Options that may be others where a run goes on: what was learned is the same under both.
_FREE = {"on_error"}


class CheckpointError(ValueError):
    """A checkpoint is none of this run, or its files have changed."""


class Resumed(NamedTuple):
    """Where learning goes on.

    Attributes
    ----------
    model : estimator
        As it was saved.
    records : int
        How many records of all files it has learned.
    ends : list of int
        How many records there are up to the end of each of the first files, which need not be read again; see
        :class:`coterie.io.readers.Reader`.
    """

    model: Any
    records: int
    ends: list[int]


class Checkpoint:
    """A folder in which a run saves its model in parts, and which records of which files it has learned.

    From :meth:`begin` to its end as a context it is kept from other runs.

    Parameters
    ----------
    folder : path-like
        Made when it is first saved to.
    parts : int
        In how many files a model is saved.
    paths : iterable of str
        The files of records, in order.
    options : mapping
        The options under which this run learns, as plain data.
    beside : iterable of str
        Other files that are read, which may not change either.

    Attributes
    ----------
    reader : Reader or None
        Of the records; says where files end, so that those that are finished are not read again.

    Raises
    ------
    CheckpointError
        If the records come from a pipe, which nobody can read again.
    InputError
        If a file is not there.
    """

    def __init__(
        self,
        folder: str | PathLike[str],
        parts: int,
        paths: Iterable[str],
        options: Mapping[str, Any] | None = None,
        beside: Iterable[str] = (),
    ) -> None:
        self.folder, self._parts, self._options = Path(folder), parts, dict(options or {})
        self._paths = list(paths)
        if STDIN in self._paths:
            raise CheckpointError("what comes from a pipe cannot be read again: a checkpoint is of files")
        self._sources = [_described(path) for path in (*self._paths, *beside)]
        self.reader: Reader | None = None
        self._lock: IO[bytes] | None = None

    @property
    def held(self) -> Manifest | None:
        """What the folder holds; None where nothing was saved yet, ValueError where it is something else."""
        return read_manifest(self.folder) if (self.folder / MANIFEST).exists() else None

    def begin(self, resume: bool) -> None:
        """Make the folder, keep it from other runs, and try whether it can be written, before an hour of learning.

        Raises
        ------
        CheckpointError
            If another run has the folder; if it holds something else; without ``resume``, if it holds a checkpoint.
        """
        if self.folder.exists() and not self.folder.is_dir():
            raise CheckpointError(f"{self.folder} is a file: name a folder for the checkpoint")
        self.folder.mkdir(exist_ok=True)
        held = self.held
        if held is None and not all(map(is_ours, self.folder.iterdir())):
            raise CheckpointError(f"{self.folder} holds something else than a checkpoint: name another folder")
        if held is not None and not held.sources:
            raise CheckpointError(f"{self.folder} holds a model in parts, and no checkpoint: name another folder")
        try:
            self._lock = hold_folder(self.folder)
        except ValueError:
            raise CheckpointError(f"another run has {self.folder}: let it end, or name another folder") from None
        if held is not None and not resume:
            raise CheckpointError(
                f"{self.folder} holds a checkpoint of {held.records:,} records: resume it, or name another folder"
            )
        require_writable(self.folder / MANIFEST)

    def __enter__(self) -> Checkpoint:
        return self

    def __exit__(self, *error: object) -> None:
        """Release the folder for other runs."""
        if self._lock is not None:
            self._lock.close()

    def save(self, model: Any, records: int) -> None:
        """Save a model that has learned so many records of all files; see :func:`coterie.scale.sharded.save`."""
        sources = list(self._sources)
        for i, end in enumerate([] if self.reader is None else self.reader.ends):
            if end <= records:
                sources[i] = replace(sources[i], end=end)
        save(model, self.folder, self._parts, records, sources, self._options)

    def resumed(self) -> Resumed:
        """The model that was saved, and what of the files is left to learn.

        Raises
        ------
        CheckpointError
            If a file is another one now, or has changed.
        FieldError
            If the options are others than learning began with.
        """
        held = self.held
        if held is None:
            raise CheckpointError(f"{self.folder} holds no checkpoint")
        self._require_same_files(held)
        self._require_same_options(held)
        ends: list[int] = []
        for each in held.sources[: len(self._paths)]:
            if each.end is None:
                break
            ends.append(each.end)
        return Resumed(load(self.folder), held.records, ends)

    def _require_same_files(self, held: Manifest) -> None:
        if [each.path for each in held.sources] != [each.path for each in self._sources]:
            then, these = (_listed(each.path for each in sources) for sources in (held.sources, self._sources))
            raise CheckpointError(f"{self.folder} is of the files {then}, and these are {these}: name the same ones")
        for before, now in zip(held.sources, self._sources, strict=True):
            if replace(before, end=None) != now:
                sizes = f"{before.size:,} bytes then, {now.size:,} now"
                how = sizes if before.size != now.size else "it was written again"
                raise CheckpointError(
                    f"{now.path} has changed since it was learned from: {how}; learn anew, in another folder"
                )

    def _require_same_options(self, held: Manifest) -> None:
        for name in sorted({*held.options, *self._options} - _FREE):
            before, now = held.options.get(name), self._options.get(name)
            if before != now:
                what = "{} was {before!r} when learning began, and is {now!r}: give it as it was"
                raise FieldError(what, name, before=before, now=now)


def _described(path: str) -> SourceFile:
    found = fingerprint(path)
    return SourceFile(path if is_url(path) else str(Path(path)), found.size, str(found.modified))


def _listed(paths: Iterable[str]) -> str:
    shown = list(paths)
    return ", ".join(shown[:3]) + (f" and {len(shown) - 3} more" if len(shown) > 3 else "")
