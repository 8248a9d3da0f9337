"""Measure the house: a Markdown table of lines, faces, names, arrows, words and what the gate took, for source trees.

Run `python tools/house.py [TREE] [--against OTHER]...`; each is a folder or a commit, and TREE is the checkout of this
file if it is left out. What the gate took is read from `build/gate*.jsonl`, which `tools/check` writes in its checkout.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import os
import statistics
import subprocess
import sys
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from same_bits import ROOT, checked_out

Rows = dict[str, str]
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
DOCUMENTED = (ast.Module, ast.ClassDef, *FUNCTIONS)
LAYOUT = (tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
SILENT = {tokenize.COMMENT, *LAYOUT}

#: Prints how much more than scikit-learn's names each public estimator shows, and the options of each command.
FACES = """
import inspect, json
import coterie
from coterie.cli.app import OnDemand
from sklearn.base import BaseEstimator
VERBS = {"fit", "partial_fit", "predict", "predict_proba", "decision_function", "score", *dir(BaseEstimator)}
found = {}
for name, kind in ((name, getattr(coterie, name)) for name in dir(coterie)):
    if inspect.isclass(kind) and hasattr(kind, "fit") and hasattr(kind, "predict"):
        plain = {each for each in dir(kind) if not each.startswith("_") and not each.endswith(("_", "_request"))}
        found[name] = len(plain - VERBS - set(inspect.signature(kind).parameters))
options = {}
for name, command in OnDemand().items():
    options[name] = [each.opts[0] for each in command.params if each.param_type_name == "option"]
print(json.dumps([coterie.__file__, found, options]))
"""


class Module(NamedTuple):
    """One module: its name as it is imported, its text, and what is in it."""

    path: Path
    name: str
    text: str
    tree: ast.Module

    @property
    def lines(self) -> int:
        """Count the lines that are neither blank nor comments nor docstrings."""
        text, quiet = self.text.splitlines(), set[int]()
        tokens = tokenize.generate_tokens(io.StringIO(self.text).readline)
        spans = (range(token.start[0], token.end[0] + 1) for token in tokens if token.type not in SILENT)
        full = {line for span in spans for line in span if text[line - 1].strip()}
        for node in ast.walk(self.tree):
            if isinstance(node, DOCUMENTED) and ast.get_docstring(node):
                quiet.update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
        return len(full - quiet)


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

    @cached_property
    def classes(self) -> list[ast.ClassDef]:
        """Find all classes."""
        return [node for each in self.modules for node in ast.walk(each.tree) if isinstance(node, ast.ClassDef)]

    def rows(self) -> Rows:
        """Take all measures."""
        return self.sizes() | self.contract() | self.names() | self.faces() | self.arrows() | self.gate()

    def texts(self, *patterns: str) -> list[str]:
        """Read the files of the repository, without what is made from them."""
        command = ["git", "ls-files", "-co", "--exclude-standard", "-z", "--", *patterns]
        found = subprocess.run(command, cwd=self.root, stdout=subprocess.PIPE, text=True, check=True).stdout
        paths = [self.root / name for name in found.split("\0") if name]
        return [path.read_text(encoding="utf-8") for path in paths if path.is_file()]

    def sizes(self) -> Rows:
        """Count lines and words."""
        return {
            "lines of code in src": f"{sum(module.lines for module in self.modules):,}",
            "modules in src": f"{len(self.modules)}",
            "lines of tests": f"{sum(len(text.splitlines()) for text in self.texts('tests/*.py')):,}",
            "words of CONTRIBUTING.md": f"{sum(len(text.split()) for text in self.texts('CONTRIBUTING.md')):,}",
            "words of docs/": f"{sum(len(text.split()) for text in self.texts('docs/*.md')):,}",
        }

    def contract(self) -> Rows:
        """Count what learners must have."""
        of = {
            node.name: members(node) for node in self.classes if node.name in ("StreamLearner", "BaseLearner", "Traits")
        }
        if "Traits" in of:
            of["Learner"] = next(members(node) - {"traits"} for node in self.classes if is_contract(node))
        learner = of.get("StreamLearner", of.get("Learner", set()))
        return {
            "members of the protocol of learners": f"{len(learner)}",
            "fields of a learner's Traits": f"{len(of.get('Traits', ()))}",
            "members of BaseLearner beside the protocol": f"{len(of.get('BaseLearner', set()) - learner)}",
        }

    def names(self) -> Rows:
        """Count public methods, questions for types, and names that mean two things."""
        model = next(node for node in self.classes if node.name == "OnlineModel")
        shown = [node for node in model.body if isinstance(node, FUNCTIONS) and not node.name.startswith("_")]
        twice = Counter(node.name for node in self.classes if not node.name.startswith("_"))
        return {
            "public methods and properties of OnlineModel": f"{len(shown)}",
            "isinstance in scale/": f"{sum(map(asked, self.within('coterie.scale')))}",
            "isinstance in src": f"{sum(map(asked, self.modules))}",
            "public class names that stand twice": f"{sum(count > 1 for count in twice.values())}",
        }

    def faces(self) -> Rows:
        """Count estimators, their names and the options of commands."""
        done = subprocess.run(
            [sys.executable, "-c", FACES],
            env=os.environ | {"PYTHONPATH": str(self.src)},
            stdout=subprocess.PIPE,
            check=True,
        )
        file, found, options = json.loads(done.stdout)
        if not file.startswith(str(self.src)):
            raise SystemExit(f"house.py: asked for the coterie of {self.src}, got {file}")
        every = [option for each in options.values() for option in each]
        return {
            "public estimators": f"{len(found)}",
            "public names beyond scikit-learn's, median and most": (
                f"{statistics.median(found.values()):g}, {max(found.values())}"
            ),
            "options of the command line, and over all commands": f"{len(set(every))}, {len(every)}",
        }

    def arrows(self) -> Rows:
        """Count the rooms in each container of pyproject.toml, which of them import which, and the floors."""
        project = tomllib.loads((self.root / "pyproject.toml").read_text(encoding="utf-8"))
        known, rows = {module.name for module in self.modules}, Rows()
        contracts = [each for each in project["tool"]["importlinter"]["contracts"] if each["type"] == "layers"]
        for contract in contracts:
            for container in contract["containers"]:
                inside, depth = self.within(container), container.count(".") + 2
                pairs = {(module.name, other) for module in inside for other in imported(module, known)}
                pairs = {pair for pair in pairs if all(name.startswith(f"{container}.") for name in pair)}
                rooms = {tuple(".".join(name.split(".")[:depth]) for name in pair) for pair in pairs}
                all_rooms = {".".join(module.name.split(".")[:depth]) for module in inside if module.name != container}
                counts = len(all_rooms), sum(a != b for a, b in rooms), len(contract["layers"])
                rows[f"rooms of {container}, arrows, floors"] = ", ".join(map(str, counts))
        return rows

    def gate(self) -> Rows:
        """Read what the gate took, where it was run in this tree."""
        rows = Rows()
        for path in sorted(self.root.glob("build/gate*.jsonl")):
            for line in path.read_text(encoding="utf-8").splitlines():
                rows |= {f"{path.stem}: {what}": f"{count:g}" for what, count in json.loads(line).items()}
        return rows

    def within(self, package: str) -> list[Module]:
        """Give the modules of a package."""
        return [module for module in self.modules if f"{module.name}.".startswith(f"{package}.")]


def members(node: ast.ClassDef) -> set[str]:
    """Name what the body of a class declares."""
    fields = {
        each.target.id for each in node.body if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
    }
    return fields | {each.name for each in node.body if isinstance(each, FUNCTIONS)}


def is_contract(node: ast.ClassDef) -> bool:
    """Tell whether a class is the protocol of learners."""
    return node.name == "Learner" and "traits" in members(node)


def asked(module: Module) -> int:
    """Count the calls of isinstance."""
    calls = (node.func for node in ast.walk(module.tree) if isinstance(node, ast.Call))
    return sum(isinstance(function, ast.Name) and function.id == "isinstance" for function in calls)


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


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("tree", nargs="?", default=str(ROOT))
    parser.add_argument("--against", action="append", default=[])
    given = parser.parse_args()
    places = [*given.against, given.tree]
    with ExitStack() as stack:
        columns = [Tree(stack.enter_context(checked_out(place))).rows() for place in places]
    table = [["measure", *places], ["---", *["---:"] * len(places)]]
    measures = dict.fromkeys(name for column in columns for name in column)
    for row in [*table, *([name, *(column.get(name, "") for column in columns)] for name in measures)]:
        print("| " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()
