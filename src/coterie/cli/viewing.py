"""``--view``: records of several views instead of several tasks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coterie.cli.failures import UsageError

if TYPE_CHECKING:
    from coterie.cli.options import Columns, Learning
    from coterie.jobs.choices import Choice
    from coterie.streams.readers import Reader


@dataclass(frozen=True)
class Viewing:
    """Which views there are, and how they are joined."""

    view: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=COLUMN,...",
            help="One view of what a record is about, such as its sound or its picture: these columns, or those that "
            "fit a pattern (audio_*). Once a view; there are no tasks then. vw: namespaces.",
        ),
    ] = None
    multiview: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="With --view: orthogonal (the default: views of any sizes) or matrix (the j-th columns of all views "
            "are one feature).",
        ),
    ] = None
    p: Annotated[
        float | None,
        typer.Option(
            "--p", metavar="P", help="With --view: 1 adds views up, more prefers those that say most.  [default: 2]"
        ),
    ] = None

    def __bool__(self) -> bool:
        return bool(self.view)

    def choice(self, learning: Learning) -> Choice:
        """The learner asked for, of several views if there are any."""
        if self:
            return learning.choice(multiview=self.multiview or "orthogonal", p=self.p)
        for name, value in (("multiview", self.multiview), ("p", self.p)):
            if value is not None:
                raise UsageError(f"--{name} needs views: name each with --view NAME=COLUMN,...")
        return learning.choice()

    def reader(self, columns: Columns, files: list[str], choices: Iterable[Choice]) -> Reader:
        """What reads files for learners of these choices."""
        from coterie.streams.view_schema import named_views

        columns.require_named(files, tasks=not self)
        if not self:
            return columns.reader(files)
        one_space = any(choice.multiview == "matrix" for choice in choices)
        return columns.reader(files, views=named_views(self.view or ()), one_space=one_space)

    def refuse(self) -> None:
        """Refuse what would change a model that has begun."""
        from coterie.cli.options import refuse

        given: dict[str, Any] = asdict(self)
        refuse(tuple(given), given, "the model goes on with the views it has")


NO_VIEWS = Viewing()
