"""Print how much there is to read: words, lines of README and help, names at the top; tests/test_docs.py has limits."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES, WORDS, README = 20, 40_000, 120  # at most: pages for users, words in all of them, lines
TOP = 30  # at most: names at the top of the package, without its rooms
HELP, SHOWN = 100, 18  # at most: lines of the help of a command; options that `learn --help` shows beside help itself


def words(folder: Path) -> dict[str, int]:
    """The words of each page of a folder, as `wc -w` counts them."""
    return {page.stem: len(page.read_text(encoding="utf-8").split()) for page in sorted(folder.glob("*.md"))}


def readme() -> int:
    """The lines of the README."""
    return len((ROOT / "README.md").read_text(encoding="utf-8").splitlines())


def names() -> int:
    """The names at the top of the package, its rooms not counted: those that its stub imports from within them."""
    stub = (ROOT / "src" / "coterie" / "__init__.pyi").read_text(encoding="utf-8")
    return sum(line.startswith("from .") and not line.startswith("from . ") for line in stub.splitlines())


def help_of(command: str) -> list[str]:
    """The lines that a command prints with --help."""
    from typer.testing import CliRunner

    from coterie.cli.app import app

    return CliRunner().invoke(app, [command, "--help"], prog_name="coterie", env={"COLUMNS": "80"}).stdout.splitlines()


def options(command: str) -> list[str]:
    """The options that its help shows."""
    found = (re.match(r"  (?:-\w, )?(--[\w-]+)", line) for line in help_of(command))
    return [each[1] for each in found if each and each[1] not in ("--help", "--help-all")]


def main() -> None:
    """Print the pages, the longest first, and the sums beside their limits."""
    pages = words(DOCS)
    for page in sorted(pages, key=pages.__getitem__, reverse=True):
        print(f"{pages[page]:7,}  {page}")
    print(f"{sum(pages.values()):7,}  words of {len(pages)} pages (at most {WORDS:,} of {PAGES})")
    print(f"{sum(words(DOCS / 'appendix').values()):7,}  words of the appendix")
    print(f"{readme():7,}  lines of README.md (at most {README})")
    print(f"{names():7,}  names at the top of coterie (at most {TOP})")
    from coterie.cli.app import NAMES

    for command in NAMES:
        lines = len(help_of(command))
        print(f"{lines:7,}  lines of coterie {command} --help (at most {HELP}), {len(options(command))} options")
    print(f"{'':9}learn shows at most {SHOWN} options")


if __name__ == "__main__":
    main()
