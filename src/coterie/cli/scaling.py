"""The options of learning by several workers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coterie import spec

from .failures import UsageError
from .places import naming
from .spreading import OptionSet

if TYPE_CHECKING:
    from coterie.jobs.learning import Spread
    from coterie.scale.checkpoints import Checkpoint

    from .stopping import StoppableRun


@dataclass(frozen=True)
class Scaling(OptionSet):
    """The options of learning by several workers, see `coterie.scale`."""

    group = "scaling"

    workers: int | None = spec.field(
        default=None,
        metavar="N",
        help="Learn with N workers at a time; the result is the same to the last bit. Members of a mixture learn "
        "side by side, and independent tasks in parts. `AdaptiveSharingClassifier(members='separable')` divides best.",
    )
    address: str | None = spec.field(
        default=None,
        metavar="ADDRESS",
        help="Run the workers on Ray: `local`, or a cluster's address (`auto`, `HOST:6379`). Without it, workers "
        "are threads of this process.",
    )
    checkpoint: Path | None = spec.field(
        default=None,
        metavar="DIR",
        help="Save the state of the run in this folder every 5 minutes, or as often as `--save-every` says.",
    )
    resume: bool = spec.field(
        default=False,
        help="Continue from the checkpoint in `--checkpoint`, with the same command otherwise; start with the "
        "first record if there is none. Files that have changed are refused.",
    )
    sharded: bool = spec.field(
        default=False,
        help="Write the model as a folder, with one model file for each worker's part of the tasks.",
    )

    @property
    def again(self) -> dict[str, Any]:
        """The options that the command of a resumed run must repeat."""
        return {"workers": self.workers, "address": self.address, "sharded": self.sharded}

    def check(self, from_: Path | None, model: Path | None, skip: int, delay: int, asking: bool) -> None:
        """Refuse options that do not go together, before anything is read."""
        if self.resume and self.checkpoint is None:
            raise UsageError("--resume goes on from a checkpoint: name its folder with --checkpoint")
        if self.sharded and model is None:
            raise UsageError("--sharded says how the model is saved: give --output")
        if self.checkpoint is None:
            return
        if model is not None and model.resolve() == self.checkpoint.resolve():
            raise UsageError("--checkpoint and --output name the same folder: name another one")
        for name, given in (("from", from_), ("skip", skip), ("delay", delay), ("learner ask(...)", asking)):
            if given:
                raise UsageError(f"--{name} does not go with --checkpoint, which begins with the first record")

    @contextmanager
    def checkpoint_of(
        self, files: list[str], options: Mapping[str, Any], beside: Sequence[str]
    ) -> Iterator[Checkpoint | None]:
        """Provide the checkpoint of a run that learns these files under these options; None if none was asked for."""
        if self.checkpoint is None:
            yield None
            return
        from coterie.io.sources import find_paths
        from coterie.scale.checkpoints import Checkpoint

        with Checkpoint(self.checkpoint, self.workers or 1, find_paths(files), options, beside) as made:
            with naming(self.checkpoint):
                made.begin(self.resume)
            yield made

    def _checked(self, spread: Spread | None) -> Spread | None:
        """The same workers, refusing a model that cannot be saved in parts, before it learns."""
        if self.checkpoint is None and not self.sharded:
            return spread
        from coterie.scale.sharded import check_parts

        def checked(models: Mapping[str, Any], late: bool) -> AbstractContextManager[None]:
            check_parts(next(iter(models.values())), learned=False)
            return nullcontext() if spread is None else spread(models, late)

        return checked

    @contextmanager
    def spread(self, run: StoppableRun | None = None) -> Iterator[Spread | None]:
        """Provide workers, None if none were asked for; the CPU seconds of lanes are noted for the run's summary."""
        if self.workers is None and self.address is None:
            yield self._checked(None)
            return
        from coterie.scale.engines import engine_of
        from coterie.scale.spreading import spreading_by

        with engine_of(self.workers, self.address) as engine:
            yield self._checked(spreading_by(engine))
            seconds = engine.seconds()
        if run is not None and seconds:
            slowest = max(seconds, key=lambda name: seconds[name])
            took = f"{sum(seconds.values()):,.1f} s of CPU, of which {slowest!r} {seconds[slowest]:,.1f} s"
            run.notes.append(f"{engine.workers} workers learned in {len(seconds)} lanes: {took}.")


#: Nobody asked for several.
ONE_WORKER = Scaling()
