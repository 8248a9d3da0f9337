"""Measure the house: a Markdown table of sizes, faces, arrows, types asked for and compiled code of a source tree.

Run `python tools/house.py [TREE] [--against OTHER] [--slow]`; TREE is the checkout of this file if it is left out.
With --against there are two columns, OTHER first. --slow adds what must be compiled: some minutes a tree.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

Rows = dict[str, str]
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
DOCUMENTED = (ast.Module, ast.ClassDef, *FUNCTIONS)

LAYOUT = (tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
SILENT = {tokenize.COMMENT, *LAYOUT}
ASKING = ("hasattr", "isinstance", "getattr")
QUESTION = re.compile(r"(What|Whether|How|Which|As|Where|Who|That)\b")

#: Prints for each public estimator how many classes of ours it inherits from, and how much more it shows than asked.
FACES = """
import inspect, json
import coterie
from sklearn.base import BaseEstimator
VERBS = {"fit", "partial_fit", "predict", "predict_proba", "decision_function", "score", *dir(BaseEstimator)}
found = {}
for name, kind in ((name, getattr(coterie, name)) for name in dir(coterie)):
    if inspect.isclass(kind) and hasattr(kind, "fit") and hasattr(kind, "predict"):
        others = [each for each in kind.__mro__[1:] if each.__module__.split(".")[0] == "coterie"]
        plain = {each for each in dir(kind) if not each.startswith("_") and not each.endswith(("_", "_request"))}
        found[name] = len(others), len(plain - VERBS - set(inspect.signature(kind).parameters))
print(json.dumps([coterie.__file__, found]))
"""

#: Learns sparse records by averaged weights in sparse tables, and prints what numba had to compile for it.
COMPILING = """
import json, time
import numpy, scipy.sparse
import coterie
from numba.core import event
names = []
class Listener(event.Listener):
    def on_start(self, started):
        function = started.data["dispatcher"].py_func
        names.append((function.__module__, function.__qualname__))
    def on_end(self, ended): pass
event.register("numba:compile", Listener())
X = scipy.sparse.csr_array(numpy.eye(6))
model, y, task = coterie.MultitaskPerceptron(average=True, storage="sparse"), [0, 1] * 3, [0, 0, 0, 1, 1, 1]
begun = time.process_time()
model.partial_fit(X, y, task=task).predict(X, task=task)
print(json.dumps([coterie.__file__, names, time.process_time() - begun]))
"""

#: A first test of the linear Perceptron.
FIRST_TEST = """
import numpy, coterie
model = coterie.MultitaskPerceptron().fit(numpy.eye(4), [0, 1, 0, 1], task=[0, 0, 1, 1])
assert model.predict(numpy.eye(4), task=[0, 0, 1, 1]).tolist() == [0, 1, 0, 1]
"""


class Module(NamedTuple):
    """One module: its name as it is imported, its text, and what is in it."""

    path: Path
    name: str
    text: str
    tree: ast.Module

    @property
    def lines(self) -> tuple[int, int]:
        """Count the lines that are neither blank nor comments: all, and those of docstrings."""
        text, quiet = self.text.splitlines(), set[int]()
        tokens = tokenize.generate_tokens(io.StringIO(self.text).readline)
        spans = (range(token.start[0], token.end[0] + 1) for token in tokens if token.type not in SILENT)
        full = {line for span in spans for line in span if text[line - 1].strip()}
        for node in documented(self.tree):
            quiet.update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
        return len(full), len(full & quiet)


class Tree:
    """A source tree and its measures."""

    def __init__(self, root: Path) -> None:
        self.root, self.src = root.resolve(), root.resolve() / "src"
        if not (self.src / "coterie").is_dir():
            raise SystemExit(f"house.py: {self.src} has no coterie in it")

    @cached_property
    def modules(self) -> list[Module]:
        """Read all modules."""
        made = []
        for path in sorted(self.src.rglob("*.py")):
            parts = path.relative_to(self.src).with_suffix("").parts
            text = path.read_text(encoding="utf-8")
            made.append(Module(path, ".".join(parts).removesuffix(".__init__"), text, ast.parse(text)))
        return made

    def nodes(self, *kinds: type[ast.AST]) -> Iterator[ast.AST]:
        """Give the nodes of some kinds in all modules."""
        return (node for module in self.modules for node in ast.walk(module.tree) if isinstance(node, kinds))

    def quick(self) -> Rows:
        """Take the measures that need no compiling."""
        rows = self.sizes() | self.faces() | self.arrows() | self.types()
        texts = [ast.get_docstring(node) for module in self.modules for node in documented(module.tree)]
        return rows | {"docstrings that begin with What, Whether, How, ...": share(map(QUESTION.match, texts))}

    def sizes(self) -> Rows:
        """Count lines and modules."""
        counts = [module.lines for module in self.modules]
        full, quiet = (sum(column) for column in zip(*counts, strict=True))
        longest = max(self.modules, key=lambda module: len(module.text.splitlines()))
        return {
            "lines of code in src, docstrings included": f"{full:,}",
            "lines of code in src without docstrings": f"{full - quiet:,}",
            "modules": f"{len(self.modules)}",
            "longest module, all lines": f"{len(longest.text.splitlines())} ({longest.name})",
        }

    def faces(self) -> Rows:
        """Count the ancestors and the public names of estimators."""
        found = self.run(FACES)[1]
        rows = {"public estimators": f"{len(found)}"}
        for i, what in enumerate(("classes of ours above an estimator", "public names beyond scikit-learn's")):
            counts = sorted(each[i] for each in found.values())
            middle = (counts[(len(counts) - 1) // 2] + counts[len(counts) // 2]) / 2
            rows[f"{what}: least / median / most"] = f"{counts[0]} / {middle:g} / {counts[-1]}"
            rows[f"{what}: MultitaskPerceptron"] = f"{found['MultitaskPerceptron'][i]}"
        return rows

    def arrows(self) -> Rows:
        """Count which files of numeric/ import which, and which of its folders."""
        known = {module.name for module in self.modules}
        inside = [module for module in self.modules if module.name.startswith("coterie.numeric")]
        found = {(module.name, other) for module in inside for other in imported(module, known)}
        files = {(a, b) for a, b in found if a != b and b.startswith("coterie.numeric")}
        packages = {".".join(module.name.split(".")[:3]) for module in inside if module.name.count(".") > 2}
        rooms = {tuple(".".join(name.split(".")[:3]) for name in pair) for pair in files}
        rooms = {(a, b) for a, b in rooms if a != b and {a, b} <= packages}
        mutual = sum((b, a) in rooms for a, b in rooms) // 2
        return {
            "files of numeric/, arrows between them": f"{len(inside)}, {len(files)}",
            "rooms of numeric/, arrows between them": f"{len(packages)}, {len(rooms)} ({mutual} both ways)",
        }

    def types(self) -> Rows:
        """Count parameters of any type, and questions for types."""
        outside = [module for module in self.modules if not module.name.startswith("coterie.numeric")]
        free = [is_any(each.annotation) for module in outside for each in parameters(module.tree)]
        calls = [node for node in self.nodes(ast.Call) if isinstance(node.func, ast.Name)]
        counts = Counter(node.func.id for node in calls)
        ours = {node.name for node in self.nodes(ast.ClassDef)}
        asked = [names(node.args[1]) & ours for node in calls if node.func.id == "isinstance"]
        return {
            "parameters that are Any, outside numeric/": share(free),
            **{f"calls of {name}": f"{counts[name]}" for name in ASKING},
            "calls of isinstance for classes of ours": f"{sum(map(bool, asked))}",
        }

    def slow(self) -> Rows:
        """Take the measures that compile."""
        with tempfile.TemporaryDirectory() as folder:
            bodies, seconds = self.run(COMPILING, NUMBA_CACHE_DIR=folder)[1:]
        ours = [tuple(each) for each in bodies if each[0].split(".")[0] == "coterie"]
        warm, edited = self.after_an_edit()
        return {
            "bodies compiled for sparse averages": f"{len(ours)} of {len(set(ours))} functions",
            "CPU seconds to compile sparse averages, predicting included": f"{seconds:.1f}",
            "CPU seconds to a first test of the linear Perceptron, warm": f"{warm:.1f}",
            "CPU seconds to it after an edit of the parser of Vowpal text": f"{edited:.1f}",
        }

    def after_an_edit(self) -> tuple[float, float]:
        """Time a first test in a copy of the tree: all compiled before, and after an edit of what it does not use."""
        with tempfile.TemporaryDirectory() as folder:
            copy = Tree(self.copied(Path(folder)))
            parser = next((copy.src / "coterie" / "numeric").rglob("*vowpal*.py"))
            times = [copy.seconds() for _ in range(3)]
            with parser.open("a", encoding="utf-8") as file:
                file.write("# edited\n")
            return min(times[1:]), copy.seconds()

    def copied(self, folder: Path) -> Path:
        """Copy the sources, and nothing compiled."""
        shutil.copytree(self.src, folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
        return folder

    def seconds(self) -> float:
        """Time a first test in a process of its own, by the processor: that is not longer when others work."""
        before = os.times()
        self.run(FIRST_TEST + "print('[]')")
        after = os.times()
        return after.children_user - before.children_user + after.children_system - before.children_system

    def run(self, code: str, **variables: str) -> list:
        """Run code on this tree, and read the JSON that it prints."""
        kept = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
        env = kept | {"PYTHONPATH": str(self.src)} | variables
        done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"house.py: {self.root}: {done.stderr}")
        said = json.loads(done.stdout)
        if said and not said[0].startswith(str(self.src)):
            raise SystemExit(f"house.py: asked for the coterie of {self.src}, got {said[0]}")
        return said


def documented(tree: ast.AST) -> Iterator[ast.AST]:
    """Give the nodes that have a docstring."""
    return (node for node in ast.walk(tree) if isinstance(node, DOCUMENTED) and ast.get_docstring(node))


def parameters(tree: ast.AST) -> Iterator[ast.arg]:
    """Give the parameters of functions, but for self and cls."""
    for node in ast.walk(tree):
        if isinstance(node, FUNCTIONS):
            held = node.args
            every = [*held.posonlyargs, *held.args, held.vararg, *held.kwonlyargs, held.kwarg]
            yield from (each for each in every if each is not None and each.arg not in ("self", "cls"))


def is_any(annotation: ast.expr | None) -> bool:
    """Tell whether an annotation is Any, or missing."""
    return annotation is None or ast.unparse(annotation) in ("Any", "typing.Any")


def names(kinds: ast.expr) -> set[str]:
    """Name the types that isinstance is asked for."""
    return {getattr(each, "attr", getattr(each, "id", "")) for each in ast.walk(kinds)}


def imported(module: Module, known: set[str]) -> Iterator[str]:
    """Name the modules of the tree that a module imports, wherever in it."""
    package = module.name if module.path.name == "__init__.py" else module.name.rpartition(".")[0]
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            yield from ({each.name for each in node.names} & known)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            names = {f"{base}.{each.name}" for each in node.names}
            yield from (names & known if names & known else {base} & known)


def share(each: Iterable[object]) -> str:
    """Show how many of some things are so."""
    flags = [bool(flag) for flag in each]
    return f"{100 * sum(flags) / max(len(flags), 1):.1f} % ({sum(flags):,} of {len(flags):,})"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("tree", nargs="?", type=Path, default=Path(__file__).resolve().parents[1])
    parser.add_argument("--against", type=Path)
    parser.add_argument("--slow", action="store_true")
    given = parser.parse_args()
    trees = [Tree(root) for root in (given.against, given.tree) if root is not None]
    columns = [tree.quick() | (tree.slow() if given.slow else {}) for tree in trees]
    table = [
        ["measure", *(str(tree.root) for tree in trees)],
        *([name, *(c[name] for c in columns)] for name in columns[0]),
    ]
    table.insert(1, ["---", *["---:"] * len(trees)])
    for row in table:
        print("| " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()
