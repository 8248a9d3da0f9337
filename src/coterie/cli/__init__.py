"""The command line: every command reads its options, makes one call to the library, and prints."""

from __future__ import annotations


def main() -> None:
    """Run the command that the process was started with."""
    from coterie.cli.app import app

    app(prog_name="coterie")
