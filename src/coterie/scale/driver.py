"""Learning from files by several workers."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from os import PathLike
from typing import TYPE_CHECKING, Any

from coterie.io.readers import read
from coterie.io.sources import find_paths
from coterie.jobs.learning import LearningOutcome, go_on
from coterie.jobs.stopping import Checkpoints, SaveEvery, Stop

from .checkpoints import Checkpoint
from .engines import engine_of
from .sharded import check_parts
from .spreading import spreading_by

if TYPE_CHECKING:
    from coterie.jobs.learning import OnRound


def learn(
    paths: str | Iterable[str],
    model: Any,
    *,
    workers: int | None = None,
    address: str | None = None,
    checkpoint: str | PathLike[str] | None = None,
    every: str = "5m",
    resume: bool = False,
    on_round: OnRound | None = None,
    stop: Stop | None = None,
    **reading: Any,
) -> LearningOutcome:
    r"""Let a model learn from files by several workers: the model, to the last bit, that one would have learned.

    Parameters
    ----------
    paths : str or iterable of str
        Files, globs or URLs, read one after the other.
    model : online estimator
        New, or one that has learned. Its members learn apart from each other, and independent tasks in as many parts as
        there are workers; see :func:`coterie.scale.plan`.
    workers : int, optional
        How many work at a time; as many as there are cores without.
    address : str, optional
        ``"local"`` or a cluster's address for workers on Ray; threads without.
    checkpoint : path-like, optional
        A folder to save in, ``every`` so many records, seconds, minutes or hours (``"100000"``, ``"30s"``, ``"5m"``).
    resume : bool
        Go on from the checkpoint where there is one: with the model in it, whatever the one given is.
    on_round, stop
        As in :func:`coterie.jobs.learning.learn`.
    **reading
        As in :func:`coterie.io.readers.read`: ``task``, ``label`` and others; numbers are scaled by ``"auto"`` unless
        it says otherwise, as ``coterie learn`` does.

    Returns
    -------
    LearningOutcome
        With ``model`` and ``trace``; after a resumption the trace is of the records since.

    Raises
    ------
    ValueError
        If the model cannot learn by several workers, or if the checkpoint is of other files or files that have changed.
    InputError
        With file and line, for records that cannot be read or learned.

    Examples
    --------
    >>> import coterie as ct, pathlib, tempfile
    >>> from coterie import scale
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "clicks.csv"
    >>> lines = [f"u{i % 7},{i % 3 - 1},{(i % 3 + i % 7) % 2}" for i in range(300)]
    >>> _ = file.write_text("user,x,click\n" + "\n".join(lines))
    >>> model = ct.AdaptiveSharingClassifier(members="separable")
    >>> outcome = scale.learn(str(file), model, workers=2, task="user", label="click")
    >>> len(outcome.model.tasks_), outcome.trace.margin.shape
    (7, (300,))
    """
    found = find_paths(paths)
    with ExitStack() as stack:
        saved = None if checkpoint is None else stack.enter_context(Checkpoint(checkpoint, workers or 1, found))
        points, learned = None, 0
        ends: list[int] = []
        if saved is not None:
            check_parts(model, learned=False)
            saved.begin(resume)
            if saved.held is not None:
                model, learned, ends = saved.resumed()
                reading = {name: reading[name] for name in _NAMED if name in reading}
            points = Checkpoints(SaveEvery.of(every), lambda model, records: saved.save(model, learned + records))
        encoder = getattr(model, "encoder_", None)
        reading = reading if encoder is None else reading | {"encoder": encoder}
        engine = stack.enter_context(engine_of(workers, address))
        reader = read(found, skip=learned, ends=ends, **reading)
        if saved is not None:
            saved.reader = reader
        return go_on(reader, model, on_round=on_round, stop=stop, checkpoints=points, spread=spreading_by(engine))


#: The options about files that are given again where a model that has read such files goes on.
_NAMED = ("label", "task", "weight", "time", "format", "on_error")
