"""Print how much there is to read: words a page, and the lines of the README; tests/test_docs.py holds the limits."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES, WORDS, README = 20, 40_000, 120  # at most: pages for users, words in all of them, lines


def words(folder: Path) -> dict[str, int]:
    """The words of each page of a folder, as `wc -w` counts them."""
    return {page.stem: len(page.read_text(encoding="utf-8").split()) for page in sorted(folder.glob("*.md"))}


def readme() -> int:
    """The lines of the README."""
    return len((ROOT / "README.md").read_text(encoding="utf-8").splitlines())


def main() -> None:
    """Print the pages, the longest first, and the sums beside their limits."""
    pages = words(DOCS)
    for page in sorted(pages, key=pages.__getitem__, reverse=True):
        print(f"{pages[page]:7,}  {page}")
    print(f"{sum(pages.values()):7,}  words of {len(pages)} pages (at most {WORDS:,} of {PAGES})")
    print(f"{sum(words(DOCS / 'appendix').values()):7,}  words of the appendix")
    print(f"{readme():7,}  lines of README.md (at most {README})")


if __name__ == "__main__":
    main()
