"""The model of a moment in the past, from a service's folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from math import inf
from pathlib import Path
from typing import Any

from coterie import persistence

from .engine import Engine
from .events import decode_frame
from .journal import FLUSHED, flushed_in, read_only
from .service import offset_of, snapshots_in

Learned = Callable[[Sequence[tuple[Any, Any, Any]]], Any]


def replay(
    folder: Path, offset: int | None = None, time: float | None = None, on_learned: Learned | None = None
) -> Engine:
    """Rebuild the engine as it was at an offset of the journal or at a time, or as it is.

    Parameters
    ----------
    folder : Path
        That of a service, which may be running.
    offset : int, optional
        The last frame to learn ends there or before.
    time : float, optional
        The last frame to learn was of this time or before, in seconds since 1970.
    on_learned : callable, optional
        Is called with the records that were learned, from the oldest snapshot that is kept on, but for those of tasks
        that were forgotten later: who learns the others knows nothing of these.

    Returns
    -------
    Engine
        To the bit what the service's was.

    Raises
    ------
    ValueError
        If nothing is kept of so early a moment, the journal ends before the offset, or a file is damaged.
    """
    kept = snapshots_in(folder)
    if not kept:
        raise ValueError(f"{folder} is no folder that has a snapshot of a service")
    for path in kept if on_learned is not None else reversed(kept):
        if offset is not None and offset_of(path) > offset:
            continue
        engine = persistence.load(path)
        if not isinstance(engine, Engine):
            raise ValueError(f"{path} is no snapshot of a service, but a {type(engine).__name__}")
        if time is None or engine.at <= time:
            return _go_on(engine, folder, offset, time, on_learned)
    raise ValueError(
        f"{folder} holds nothing so early: its oldest snapshot is of offset {offset_of(kept[0])}; a service begun with "
        "--keep-journal keeps all"
    )


def _go_on(engine: Engine, folder: Path, offset: int | None, time: float | None, on_learned: Learned | None) -> Engine:
    if on_learned is not None:
        gone = _forgotten(engine, folder)
        engine.on_learned = lambda records: on_learned(
            [each for each in records if gone.get(each[2], -1) <= engine.offset]
        )
    sure = flushed_in(folder).sure if (folder / FLUSHED).exists() else 0
    last_offset = inf if offset is None else offset
    if time is not None:
        last_offset = min(last_offset, _last_until(engine, folder, time))
    for held in read_only(folder, engine.offset):
        if held.end > last_offset:
            break
        engine.take(decode_frame(held.payload), held.end)
    else:
        if engine.offset < sure and offset is None and time is None:
            ends = f"can be read up to offset {engine.offset} and was on the disk up to {sure}"
            raise ValueError(f"the journal in {folder} {ends}: --until {engine.offset} rebuilds what is there")
        if offset is not None and offset > engine.offset:
            raise ValueError(f"{folder} has a journal that ends at offset {engine.offset}, before {offset}")
    return engine


def _forgotten(engine: Engine, folder: Path) -> dict[Any, int]:
    """Tasks that were forgotten, and the offset behind the last frame that did so."""
    return {
        record.task: held.end
        for held in read_only(folder, engine.offset)
        for event in decode_frame(held.payload)
        if event.kind == "forgotten"
        for record in event.records
    }


def _last_until(engine: Engine, folder: Path, time: float) -> int:
    """The offset behind the last frame of a time or before; frames before it may have had a clock that was ahead."""
    last = engine.offset
    for held in read_only(folder, engine.offset):
        if all(event.at <= time for event in decode_frame(held.payload)):
            last = held.end
    return last


def moment(text: str) -> tuple[int | None, float | None]:
    """An offset, or a time in ISO 8601, as seconds since 1970.

    Raises
    ------
    ValueError
        For anything else.

    Examples
    --------
    >>> moment("81234"), moment("2026-01-01T12:00:00+00:00")
    ((81234, None), (None, 1767268800.0))
    """
    if text.isdecimal():
        return int(text), None
    try:
        return None, datetime.fromisoformat(text).timestamp()
    except ValueError:
        raise ValueError(f"--until is {text!r}; expected an offset, or a time as 2026-01-31T12:00") from None
