"""Choose the tests that the plain run leaves to the slow ones, so that it compiles no more than so many combinations.

`python tools/thin.py 270` runs all tests that are not marked slow by hand, notes which combinations of types each
calls, and writes to `tests/seldom.txt` those that compile what few others do. Combinations go first that serve the
fewest tests: the first of a function counts as much as five others. What `ALWAYS` names stays. This takes as long as a
plain run; further arguments go to pytest.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
SELDOM = ROOT / "tests" / "seldom.txt"
#: Covers of pairs, the frozen traces, and the table of all learners.
ALWAYS = (
    *("test_equality.py::test_fast_form_equals_the_literal_one",),
    *("test_contract.py::test_pieces_files_and_copies", "test_contract.py::test_learners_by_products"),
)
#: What a further case of a function is worth, whose first is worth 1.
CASE = 0.2


# -- what each test calls: a plugin for pytest -------------------------------------------------------------------------


class Calls:
    """Combinations of types that each test calls: before each, dispatchers forget theirs, and are given them again."""

    def __init__(self, folder: str) -> None:
        from numba.core import dispatcher, sigutils

        self.folder, self.test = folder, ""
        self.used: dict[str, set[str]] = defaultdict(set)
        self.dispatchers: dict[int, Any] = {}
        self.made: dict[tuple[int, Any], Any] = {}
        compile_anew = dispatcher.Dispatcher.compile

        def compile_once(held: Any, signature: Any) -> Any:
            if not hasattr(held, "linked"):
                return compile_anew(held, signature)
            types, _ = sigutils.normalize_signature(signature)
            place = id(held), types
            self.dispatchers[id(held)] = held
            self.used[self.test].add(f"{held.py_func.__module__}.{held.py_func.__qualname__}{types}")
            if place in self.made and types not in held.overloads:
                held.add_overload(self.made[place])
                return self.made[place].entry_point
            entry = compile_anew(held, signature)
            self.made[place] = held.overloads[types]
            return entry

        dispatcher.Dispatcher.compile = compile_once

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Forget what is compiled, not what it was compiled to."""
        self.test = nodeid
        for held in self.dispatchers.values():
            held._clear()
            held.overloads.clear()

    def pytest_sessionfinish(self) -> None:
        """Leave what was noted in a file."""
        self.used.pop("", None)
        found = {test: sorted(calls) for test, calls in self.used.items()}
        (Path(self.folder) / f"{os.getpid()}.json").write_text(json.dumps(found))


def pytest_configure(config: Any) -> None:
    """Note the calls of each test."""
    config.pluginmanager.register(Calls(os.environ["COTERIE_CALLS"]))


# -- the choice --------------------------------------------------------------------------------------------------------


class Case(NamedTuple):
    """Tests of one function that call the same."""

    function: str
    calls: frozenset[str]


def cases_of(tests: dict[str, frozenset[str]]) -> set[Case]:
    """Tests that compile nothing are none."""
    return {Case(test.partition("[")[0], calls) for test, calls in tests.items() if calls}


def kept(cases: Iterable[Case], most: int) -> set[str]:
    """So many combinations, taken away one after the other, that which costs least for all that goes with it first."""
    left = set(cases)
    always = set().union(*(case.calls for case in left if case.function.removeprefix("tests/").startswith(ALWAYS)))
    while len(combinations := always.union(*(case.calls for case in left))) > most:
        users: dict[str, set[Case]] = defaultdict(set)
        for case in left:
            for call in case.calls:
                users[call].add(case)
        functions = Counter(case.function for case in left)

        def cost(call: str, users: Any = users, functions: Any = functions) -> float:
            gone = users[call]
            free = [other for other in set().union(*(case.calls for case in gone)) - always if users[other] <= gone]
            last = sum(functions[function] == n for function, n in Counter(case.function for case in gone).items())
            return (CASE * len(gone) + last) / sum(0.4 + len(other) / 1000 for other in free)  # long types take longer

        left -= users[min(sorted(combinations - always), key=cost)]
    return combinations


def main(most: int, arguments: list[str]) -> None:
    """Run the tests and write the file."""
    with tempfile.TemporaryDirectory() as folder:
        paths = os.pathsep.join([str(ROOT / "tools"), os.environ.get("PYTHONPATH", "")])
        subprocess.run(
            ["pytest", "-q", "-n", "auto", "--dist", "worksteal", "-p", "thin", "-m", "not slow", *arguments],
            env=os.environ | {"COTERIE_CALLS": folder, "COTERIE_SELDOM": "", "PYTHONPATH": paths},
            cwd=ROOT,
            check=False,
        )
        tests: dict[str, set[str]] = defaultdict(set)
        for path in Path(folder).glob("*.json"):
            for test, calls in json.loads(path.read_text()).items():
                tests[test] |= set(calls)
    found = {test: frozenset(calls) for test, calls in tests.items()}
    stays = kept(cases_of(found), most)
    seldom = sorted(test.removeprefix("tests/") for test, calls in found.items() if not calls <= stays)
    SELDOM.write_text("".join(f"{test}\n" for test in seldom))
    functions = {test.partition("[")[0] for test in found} - {
        t.partition("[")[0] for t, c in found.items() if c <= stays
    }
    count = len(set().union(*found.values()))
    print(f"{len(stays)} of {count} combinations are kept, and {len(seldom)} of {len(found)} tests are seldom run.")
    print("\n".join(["Of these functions none is run often:", *sorted(functions)]))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
