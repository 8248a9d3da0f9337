"""Run the console blocks of documents again and write what the commands print now: refresh_console.py docs/cli.md."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import console


def refreshed(text: str, folder: str) -> str:
    """The text with every block as its commands print it, one after the other in a folder."""
    blocks = console.BLOCK.findall(text)
    for block in blocks:
        parts = [
            f"$ {command}\n{console.printed_by(command, folder)}"
            for command, _ in console.commands(f"```console\n{block}```\n")
        ]
        text = text.replace(f"```console\n{block}```", f"```console\n{''.join(parts)}```")
    return text


for name in sys.argv[1:]:
    with TemporaryDirectory() as folder:
        path = Path(name)
        path.write_text(refreshed(path.read_text(encoding="utf-8"), folder), encoding="utf-8")
