"""``--view``: records of several views instead of several tasks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from coterie import spec

from .failures import UsageError, option
from .options import ColumnOptions, LearningOptions, refuse
from .spreading import OptionSet

if TYPE_CHECKING:
    from coterie.io.readers import Reader
    from coterie.jobs.learner_config import LearnerConfig


@dataclass(frozen=True)
class Viewing(OptionSet):
    """The views of a record."""

    group = "views"

    view: list[str] | None = spec.field(
        default=None,
        metavar="NAME=COLUMN,...",
        help="A view of what a record is about, such as its sound or its picture: these columns, or those that fit a "
        "pattern (`'audio=mfcc_*'`); a column by itself is a view of its name, a pattern by itself one for each column "
        "that it fits. Once for every view; there are no tasks then. For `vw` namespaces.",
    )

    def __bool__(self) -> bool:
        return bool(self.view)

    def config(self, learning: LearningOptions) -> LearnerConfig:
        """Return the learner asked for, of several views if there are any."""
        if self:
            return learning.config(multiview=learning.given.get("multiview", "orthogonal"))
        for name in learning.settings()["views"]:
            if name in learning.given:
                raise UsageError(f"{option(name)} needs views: name each with --view NAME=COLUMN,...")
        return learning.config()

    def reader(
        self, columns: ColumnOptions, files: list[str], configs: Iterable[LearnerConfig], skip: int = 0
    ) -> Reader:
        """Open the files for these learners."""
        from coterie.io.schema import named_views

        columns.require_named(files, tasks=not self)
        if not self:
            return columns.reader(files, skip=skip)
        one_space = any(config.multiview == "matrix" for config in configs)
        return columns.reader(files, views=named_views(self.view or ()), one_space=one_space, skip=skip)

    def refuse(self, learning: LearningOptions) -> None:
        """Refuse options that would change a model that goes on."""
        given: dict[str, object] = {name: learning.given.get(name) for name in learning.settings()["views"]}
        refuse({"view": self.view} | given, "the model goes on with the views it has")


NO_VIEWS = Viewing()
