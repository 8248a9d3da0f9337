"""Print what `tools/check --quick` gives to pytest: the tests of what changed since main, the closest first.

Changed tests and those named after a changed module come first, then tests that import one, then those that import
what imports it, as long as they are few; then the examples of changed modules and pages, and at last some tests of
everything, for an edit may reach what no import shows. Imports are read from the sources; a public name counts as the
module that the stubs say.
"""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCES = {"coterie": ROOT / "src" / "coterie", "": ROOT / "tests"}
EVERYTHING = ["tests/test_golden.py", "tests/test_spec.py", "tests/test_equality.py"]
#: Files of tests beyond which no more distant ones are added.
MANY = 16


def git(*arguments: str) -> list[str]:
    """Return the words that git answers, none where it fails."""
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split()


def changed() -> set[Path]:
    """Files that differ from where this branch left main, those that git does not know yet too."""
    base = git("merge-base", "HEAD", "origin/main") or git("merge-base", "HEAD", "main") or ["HEAD"]
    names = git("diff", "--name-only", "--diff-filter=d", base[0]) + git("ls-files", "--others", "--exclude-standard")
    return {ROOT / name for name in names}


def module(path: Path) -> str:
    """The dotted name of a source file; of helpers of tests, that by which tests import them."""
    package = path.is_relative_to(SOURCES["coterie"])
    parts = path.relative_to(ROOT / ("src" if package else "tests")).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module(path): path for folder in SOURCES.values() for path in sorted(folder.rglob("*.py"))}


@cache
def stub(package: str) -> dict[str, str]:
    """The module in which each public name of a package is."""
    path = MODULES.get(package, ROOT / "none").with_suffix(".pyi")
    if not path.exists():
        return {}
    given = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.ImportFrom)]
    return {name.asname or name.name: absolute(node, package, True) for node in given for name in node.names}


def absolute(node: ast.ImportFrom, name: str, package: bool) -> str:
    """The module that ``from … import`` names, in a module of this name."""
    if node.level == 0:
        return node.module or ""
    above = name.split(".")
    above = above[: len(above) - node.level + package]
    return ".".join([*above, *([node.module] if node.module else [])])


def provider(package: str, name: str) -> str:
    """The module behind a name of a package or module: itself where that is a module, what the stub says, or that."""
    if f"{package}.{name}" in MODULES:
        return f"{package}.{name}"
    there = stub(package).get(name, package)
    return there if there == package else provider(there, name)


def imported(name: str, path: Path) -> Iterator[str]:
    """Modules that a file imports, anywhere in it, or uses as attributes of the package."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    known = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            source = absolute(node, name, path.name == "__init__.py")
            yield from (provider(source, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name != "coterie")
            known |= {alias.asname or alias.name for alias in node.names if alias.name == "coterie"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in known:
            yield provider("coterie", node.attr)


def users() -> dict[str, set[str]]:
    """For each module those that import it."""
    found: dict[str, set[str]] = {name: set() for name in MODULES}
    for name, path in MODULES.items():
        for used in imported(name, path):
            if used in found:
                found[used].add(name)
    return found


def rings(start: Iterable[str]) -> Iterator[list[Path]]:
    """Files of tests by how many imports lie between them and these modules."""
    importing, seen, ring = users(), set(start), set(start)
    while ring:
        yield [MODULES[name] for name in sorted(ring) if name.startswith("test_")]
        ring = {user for name in ring for user in importing[name]} - seen
        seen |= ring


def affected(files: set[Path]) -> list[Path]:
    """What to run, the closest first."""
    pages = sorted(path for path in files if path.suffix == ".md" and path.name != "CHANGELOG.md")
    touched = sorted(module(path) for path in files if path in MODULES.values())
    named = {name.rpartition(".")[2] for name in touched}
    tests = [path for path in sorted(SOURCES[""].glob("test_*.py")) if named & set(path.stem.split("_")[1:])]
    for ring in rings(touched):
        more = [path for path in ring if path not in tests]
        if tests and len(tests) + len(more) > MANY:
            break
        tests += more
    examples = [MODULES[name] for name in touched if name.startswith("coterie")]
    pages += [SOURCES[""] / "test_docs.py"] if pages else []
    return list(dict.fromkeys([*tests[:MANY], *examples, *pages, *(ROOT / name for name in EVERYTHING)]))


if __name__ == "__main__":
    print(*(path.relative_to(ROOT) for path in affected(changed())), sep="\n")
