"""The language of the code: names, first lines of docstrings, long functions, `Any` and the length of CONTRIBUTING.

`LEFT` and `ANY` have what is left of each fault in each room. A count must not rise above its ceiling; once it falls, lower the
ceiling to it. ``python tests/test_language.py ROOM`` lists the faults of a room.
"""

import ast
import re
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src/coterie"
#: Folders in which only names count.
TESTS = [ROOT / "tests", ROOT / "papers/tests"]

#: Names that are left to be replaced, by room; there are no faults of docstrings and no long functions.
LEFT = {"_compiled": 7, "cli": 1, "data": 1, "evaluation": 2}
#: The uses of `Any`, by room; compiled code has no annotations.
ANY = {".": 70, "bandits": 16, "batch": 1, "cli": 15, "data": 27, "datasets": 0, "distributed": 5, "estimators": 83}
ANY |= {"evaluation": 22, "models": 57, "server": 16, "tasks": 5, "updates": 20, "_compiled": None}

#: Names of classes and of modules that occur more than once.
REPEATED_CLASSES, REPEATED_MODULES = 4, 0

#: The most words of CONTRIBUTING.md, its code not counted.
WORDS = 1800

#: Names for whatever a variable is; they are replaced by the noun.
BANNED_VARIABLES = {"apart", "beside", "each", "found", "given", "held", "kept"}
BANNED_VARIABLES |= {"made", "said", "some", "taken", "told"}
#: Functions without a verb or an object.
BANNED_FUNCTIONS = BANNED_VARIABLES | {"at", "note", "of", "on", "put", "show", "tell", "with_"}
#: Words that begin a clause in the place of a noun.
CLAUSE = re.compile(r"\b(what|where|who|whom|whose|whether)\b", re.IGNORECASE)
#: A heading and its underline on the line of the text, as a tool that wraps lines may leave them.
BROKEN = re.compile(r"^ *\w+ -{4,} .*", re.MULTILINE)
#: The most lines of a function, its docstring not counted.
LONGEST = 60

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@cache
def rooms():
    """The files of each room; the modules beside the rooms are the room "."."""
    files = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        folder = path.relative_to(PACKAGE).parts
        files.setdefault(folder[0] if len(folder) > 1 else ".", []).append(path)
    return files


@cache
def nodes_of(path):
    """The nodes of the syntax tree of a file."""
    return list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def faults_of(path):
    """The faults of one file: their kind, line and text."""
    for node in nodes_of(path):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name) if name in BANNED_VARIABLES:
                yield "names", node.lineno, name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) if name in BANNED_FUNCTIONS:
                yield "names", node.lineno, name
            case ast.Name(id="Any"):
                yield "Any", node.lineno, "Any"
        if isinstance(node, (*FUNCTIONS, ast.ClassDef, ast.Module)):
            docstring = ast.get_docstring(node) or ""
            first = docstring.partition("\n")[0]
            if CLAUSE.search(first):
                yield "docstrings", getattr(node, "lineno", 1), first
            yield from (("docstrings", getattr(node, "lineno", 1), heading) for heading in BROKEN.findall(docstring))
            if isinstance(node, FUNCTIONS) and node.end_lineno - node.lineno - len(docstring.splitlines()) > LONGEST:
                yield "long", node.lineno, node.name


def repeated(names):
    """How many of these occur more than once, without those that begin with an underscore."""
    return sum(n > 1 for name, n in Counter(names).items() if not name.startswith("_"))


def assert_just_below(counts, ceilings):
    """A count is at most its ceiling, and the ceiling not far above."""
    for count, ceiling in zip(counts, ceilings, strict=True):
        if ceiling is not None:
            assert count <= ceiling, "new faults: `python tests/test_language.py ROOM` lists them"
            assert ceiling <= count + 3, "lower the ceiling to the count"


def test_tests_name_variables_after_what_they_are():
    paths = [path for folder in TESTS for path in sorted(folder.rglob("*.py"))]
    assert [f"{path}:{line}: {name}" for path in paths for kind, line, name in faults_of(path) if kind == "names"] == []


def test_every_room_has_its_ceilings():
    assert set(ANY) == set(rooms())


@pytest.mark.parametrize("room", ANY)
def test_a_room_speaks_no_worse_than_before(room):
    counts = Counter(kind for path in rooms()[room] for kind, _, _ in faults_of(path))
    kinds = ("names", "docstrings", "long", "Any")
    assert_just_below([counts[kind] for kind in kinds], (LEFT.get(room, 0), 0, 0, ANY[room]))


def test_names_are_given_once_and_the_guide_is_short():
    paths = list(PACKAGE.rglob("*.py"))
    classes = [node.name for path in paths for node in nodes_of(path) if isinstance(node, ast.ClassDef)]
    counts = repeated(classes), repeated(path.stem for path in paths)
    assert_just_below(counts, (REPEATED_CLASSES, REPEATED_MODULES))
    guide = re.sub(r"(?ms)^```.*?^```$", "", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))  # without its code
    assert len(guide.split()) <= WORDS


if __name__ == "__main__":
    for room in sys.argv[1:]:
        for path in rooms()[room]:
            for kind, line, text in faults_of(path):
                print(f"{path.relative_to(ROOT)}:{line}: {kind}: {text}")
