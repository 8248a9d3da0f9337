"""Settings and fixtures that the tests share, which are slow, and what was compiled."""

import gc
import json
import os
import signal
import time
from collections import Counter
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import settings
from numba.core import event

# Most of the time goes by in compiling, a fifth of it in looking for garbage among millions of objects in use.
gc.set_threshold(100_000, 20, 50)

# A shell that starts a run in the background may have it ignore interrupts, which tests of stopping send.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples on every machine and in every run; `pytest --hypothesis-profile=search` looks for new ones.
settings.register_profile("repeatable", derandomize=True, deadline=None, database=None, max_examples=30)
settings.register_profile("search", deadline=None, max_examples=1000)
settings.load_profile("repeatable")

os.environ.pop("COTERIE_DEBUG", None)  # with which commands that fail print where

# Tests of the service are left out where what it needs is not installed.
collect_ignore_glob = [] if find_spec("starlette") and find_spec("uvicorn") else ["test_serve*.py"]


@pytest.fixture
def clicks(tmp_path):
    """A file of records of users, for commands to read."""
    from terminal import rows, write_csv

    return write_csv(tmp_path / "clicks.csv", rows())


@pytest.fixture
def model(clicks, tmp_path):
    """The file of a model that has learned them."""
    from terminal import WHO, run

    run("learn", clicks, *WHO, "--alone", "-q", "--output", tmp_path / "m.coterie")
    return tmp_path / "m.coterie"


@pytest.fixture
def working_folder(tmp_path, monkeypatch):
    """An empty folder, the working one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def served(monkeypatch):
    """Starts of a service that ends as soon as it listens, in this process: the lines that it says."""
    from terminal import run

    monkeypatch.setattr("uvicorn.Server.run", lambda server, sockets: None)
    return lambda folder, *arguments: run("serve", *arguments, "--data", folder, "--port", 0).stderr.splitlines()


@pytest.fixture
def small_dense_tables(monkeypatch):
    """Lets "auto" keep no more than this many bytes densely: call it with their number."""
    from coterie.updates.weights import storage

    return lambda limit: monkeypatch.setattr(storage, "DENSE_LIMIT", limit)


@pytest.fixture(scope="session")
def chromium():
    """A browser."""
    import browser

    browser_path = browser.find()
    if browser_path is None and os.environ.get("CI"):
        pytest.fail(f"no browser: expected one of {browser.NAMES} on PATH")
    if browser_path is None:
        pytest.skip(f"no browser: none of {browser.NAMES} is on PATH")
    with browser.running(browser_path) as one:
        yield one


# -- which tests are slow, and their order ---------------------------------------------------------------------------------------------

#: Pages whose examples take long, or compile what few tests do.
SLOW_PAGES = ("tutorial.md", "extending.md", "coming-from.md", "kernels.md", "labels.md", "relations.md")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Mark some pages as slow, and draw an order of modules and of tests within each from COTERIE_ORDER.

    `tools/check` sets that to the day where there is no time for all tests, so that each gets its turn.
    """
    for item in items:
        if item.path.name in SLOW_PAGES:
            item.add_marker(pytest.mark.slow)
    drawn = os.environ.get("COTERIE_ORDER")
    if drawn:
        items.sort(key=lambda item: [blake2b(f"{drawn}{part}".encode()).digest() for part in (item.path, item.nodeid)])


def pytest_collection_finish(session):
    """Let no search for garbage look again at what is there before the first test."""
    gc.collect()
    gc.freeze()


# -- what was compiled -------------------------------------------------------------------------------------------------


class Compiled(event.Listener):
    """CPU seconds of what was compiled for Python to call, with all that it calls: by function, types and test file."""

    def __init__(self):
        self.began, self.seconds = [], {}

    def on_start(self, compiling):
        self.began.append(time.process_time())

    def on_end(self, compiling):
        began = self.began.pop()
        if not self.began:
            function, types = compiling.data["dispatcher"].py_func, compiling.data["args"]
            what = f"{function.__module__}.{function.__qualname__}{types}"
            test = os.environ.get("PYTEST_CURRENT_TEST", "").partition("::")[0]
            self.seconds[f"{test}::{what}"] = time.process_time() - began


COMPILED = Compiled()
#: So many different combinations may a run compile; `tools/check` sets it for the plain run. Above it the run fails: let
#: the tests that compiled most use types that others compile, or mark them slow. What processes of tests compile is not
#: counted, so the number depends on which process comes first.
BUDGET = float(os.environ.get("COTERIE_COMBINATIONS", "inf"))
#: A file in which `tools/check` keeps what a run took, a JSON object a line.
GATE = os.environ.get("COTERIE_GATE")
PROCESSES = [COMPILED.seconds]
event.register("numba:compile", COMPILED)


def pytest_sessionfinish(session):
    if hasattr(session.config, "workeroutput"):  # one of xdist's workers
        session.config.workeroutput["compiled"] = COMPILED.seconds
        return
    seconds = [took for process in PROCESSES for took in process.values()]
    distinct = {place.partition("::")[2] for process in PROCESSES for place in process}
    if len(distinct) > BUDGET:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    if GATE:
        counts = {"combinations": len(distinct), "CPU seconds of compiling": round(sum(seconds))}
        with Path(GATE).open("a", encoding="utf-8") as file:
            print(json.dumps(counts), file=file)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    PROCESSES.append(getattr(node, "workeroutput", {}).get("compiled", {}))


def pytest_terminal_summary(terminalreporter):
    out, seconds, times, tests, of_tests = terminalreporter, Counter(), Counter(), Counter(), Counter()
    distinct = set()
    for place, took in (item for process in PROCESSES for item in process.items()):
        test, _, what = place.partition("::")
        name = what.partition("(")[0]
        seconds[name] += took
        times[name] += 1
        tests[test] += took
        of_tests[test] += 1
        distinct.add(what)
    count = len(distinct)
    out.section(f"compiled: {count} combinations in {sum(seconds.values()):.0f} s, {times.total() - count} twice")
    if count > BUDGET:
        out.write_line(
            f"FAILED: {count} combinations are more than the {BUDGET:.0f} that a plain run may compile", red=True
        )
    for name, took in seconds.most_common(8):
        out.write_line(f"{took:7.1f} s for {times[name]:3}: {name}")
    for test, took in tests.most_common(30 if count > BUDGET else 8):
        out.write_line(f"{took:7.1f} s for {of_tests[test]:3} in {test}")
