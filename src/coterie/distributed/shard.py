"""One shard: an estimator that learns the records of its tasks from separate files."""

from __future__ import annotations

import glob
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING

from coterie.data.readers import read
from coterie.evaluation.learning import continue_learning
from coterie.evaluation.stopping_signals import Checkpoints
from coterie.evaluation.stream_model import stream_model_of
from coterie.evaluation.verdict import Sums

from .run import START, ShardState, load_state, read_settings, read_split, save_state, state_path, states_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from coterie.evaluation.trace import Trace
    from coterie.types import Estimator, Json


class Shard:
    """A shard of a run: learns its own files, from its last saved state on.

    Parameters
    ----------
    run : str
        The folder of the run.
    number : int
        The shard.
    every : str
        The interval between saves; see :class:`coterie.evaluation.stopping_signals.SaveInterval`.
    """

    def __init__(self, run: str, number: int, every: str) -> None:
        self._run, self._number, self._every = Path(run), number, every
        self._records = 0

    def progress(self) -> int:
        """Return the number of records learned."""
        return self._records

    def learn(self) -> Exception | None:
        """Learn all records of the shard, and save its state; return an error instead of raising it."""
        try:
            self._learn()
        except Exception as error:
            return error
        return None

    def _learn(self) -> None:
        split = read_split(self._run)
        saved = states_of(self._run, self._number)
        state = load_state(saved[-1][1] if saved else self._run / START)
        if not saved:
            state.sums, state.records = Sums(state.sums.learner), 0
        self._records = state.records
        if state.records < split.records[self._number]:
            self._go_on(state)
        if not saved or saved[-1][0] < state.records:
            self._save(state)

    def _go_on(self, state: ShardState) -> None:
        split, options = read_split(self._run), read_settings(self._run).options
        encoder = stream_model_of(next(iter(state.models.values()))).encoder
        files = [glob.escape(str(self._run / name)) for name in split.files[self._number]]
        named: Json = {"label": options.get("label"), "weight": options.get("weight")}
        if split.kind != "arrow":
            named = {"task": options.get("task")}
        reader = read(files, format=split.kind, encoder=encoder, skip=state.records, **named)
        before, spent, began = state.records, state.seconds, time.process_time()

        def on_round(traces: Mapping[str, Trace]) -> None:
            state.sums.add(traces)
            self._records += next(iter(traces.values())).n

        def save(model: Estimator, records: int) -> None:
            state.records, state.seconds = before + records, spent + time.process_time() - began
            self._save(state)

        saving = Checkpoints(self._every, save)
        continue_learning(
            reader, state.models, label_baselines=state.label_baselines, on_round=on_round, checkpoints=saving
        )
        state.records, state.seconds = self._records, spent + time.process_time() - began

    def _save(self, state: ShardState) -> None:
        save_state(state_path(self._run, self._number, state.records), state)
        for records, path in states_of(self._run, self._number):
            if records < state.records:
                shutil.rmtree(path, ignore_errors=True)
