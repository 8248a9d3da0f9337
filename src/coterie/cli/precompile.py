"""``coterie precompile``."""

from __future__ import annotations

from typing import Annotated

import typer

What = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[tables|texts|numbers|python]",
        help="For which streams: files of columns, with texts, with numbers for labels; records in Python.  "
        "[default: all]",
    ),
]


def precompile(what: What = None) -> None:
    """Compile the default learner ahead, as when the image of a container is built.

    Compiled code is kept on disk, where the environment variable NUMBA_CACHE_DIR says or beside the package. Without
    this, the first run compiles what it needs, which takes about half a minute.

    For example:
      coterie precompile
      coterie precompile tables
    """
    from coterie.cli.precompiling import WHAT
    from coterie.cli.precompiling import precompile as compiled
    from coterie.inputs.errors import require_one_of

    for name in what or ():
        require_one_of("what to compile", name, WHAT)
    for name, seconds in compiled(tuple(what or WHAT)):
        typer.echo(f"{name}: {seconds:.0f} s")
