"""The choice of the engine that runs lanes: threads of this process, or Ray."""

from __future__ import annotations

import os

from .lanes import LaneEngine, Threads


def engine_of(workers: int | None = None, address: str | None = None) -> LaneEngine:
    """The engine for so many workers: threads without an address, Ray with one.

    Parameters
    ----------
    workers : int, optional
        How many lanes work at a time; as many as there are cores without.
    address : str, optional
        ``"local"`` for Ray on this machine, or the address of a cluster.

    Raises
    ------
    ValueError
        For a number of workers that is none.
    ModuleNotFoundError
        If there is an address and Ray is not installed.

    Examples
    --------
    >>> with engine_of(2) as engine:
    ...     type(engine).__name__, engine.workers
    ('Threads', 2)
    """
    if workers is None:
        workers = os.cpu_count() or 1
    if address is None:
        return Threads(workers)
    from .ray_engine import Ray

    return Ray(workers, address)
