"""``--view``: records of several views instead of several tasks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from coterie import spec

from .options import ColumnOptions, refuse
from .spreading import OptionSet

if TYPE_CHECKING:
    from coterie.io.readers import Reader
    from coterie.jobs.learners import LearnerSpec


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

    def reader(self, columns: ColumnOptions, files: list[str], configs: Iterable[LearnerSpec], skip: int = 0) -> Reader:
        """Open the files for these learners."""
        from coterie.io.schema import named_views

        columns.require_named(files, tasks=not self)
        if not self:
            return columns.reader(files, skip=skip)
        one_space = any(config.one_space for config in configs)
        return columns.reader(files, views=named_views(self.view or ()), one_space=one_space, skip=skip)

    def refuse(self) -> None:
        """Refuse views of a model that goes on."""
        refuse({"view": self.view}, "the model goes on with the views it has")


NO_VIEWS = Viewing()
