"""Processes: forked while threads learn, spawned, starting together on a cold cache; and Pythons in which nothing can run."""

import multiprocessing
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import coterie as ct
from coterie._compiled import _numba

SRC = Path(ct.__file__).parents[1]


def run(code, *arguments, timeout=300, **environment):
    """The outcome of a program in a process of its own."""
    # a process must not import the package from elsewhere, nor depend on how the tests are run
    clean = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    return subprocess.run(
        [sys.executable, "-W", "error::RuntimeWarning", "-c", textwrap.dedent(code), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        env=clean | {"PYTHONPATH": str(SRC)} | environment,
    )


# -- spawned processes -------------------------------------------------------------------------------------------------


def learn_elsewhere(model, results):
    model.learn_one({"a": 1.0}, True, task="z")
    results.put((model.state_.rounds, model.decision_function_one({"a": 1.0}, "z")))


@pytest.mark.slow
def test_a_model_goes_to_a_spawned_process_and_both_go_on():
    model = ct.MultitaskPerceptron(rule=ct.updates.PassiveAggressive())
    for y in (True, False):
        model.learn_one({"a": 1.0}, y, task="z")
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    process = context.Process(target=learn_elsewhere, args=(model, results))
    process.start()
    rounds, margin = results.get(timeout=300)
    process.join(120)
    model.learn_one({"a": 1.0}, True, task="z")
    assert (process.exitcode, rounds) == (0, 3)
    assert margin == model.decision_function_one({"a": 1.0}, "z")


# -- compiled code on disk ---------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_two_processes_start_on_a_cold_cache_together(tmp_path):
    code = "import coterie as ct; print(ct.MultitaskPerceptron().partial_fit([[1.0], [-2.0]], [0, 1]).coef_.tolist())"
    environment = os.environ | {"PYTHONPATH": str(SRC), "NUMBA_CACHE_DIR": str(tmp_path)}
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": environment}
    started = [subprocess.Popen([sys.executable, "-c", code], **options) for _ in range(2)]
    ended = [process.communicate(timeout=300) for process in started]
    assert [process.returncode for process in started] == [0, 0], ended
    assert ended[0] == ended[1] == ("[[-1.0]]\n", "")
    assert list(tmp_path.rglob("*.nbc"))
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".nbc"]


def nowhere(tmp_path):
    """A copy of the package in which numba finds no folder for compiled code: a file has the place of each."""
    code = f"import sys; sys.path.insert(0, {str(SRC)!r})\n"
    return code + textwrap.dedent(
        """
        from numba.core import caching
        def refuse(self):
            raise OSError(30, "Read-only file system")
        for kind in caching.CacheImpl._locator_classes:
            kind.ensure_cache_path = refuse
        """
    )


def test_without_a_place_for_compiled_code_it_runs_and_says_so_once(tmp_path):
    code = nowhere(tmp_path) + (
        "import warnings\n"
        "with warnings.catch_warnings(record=True) as caught:\n"
        "    warnings.simplefilter('always')\n"
        "    from coterie._compiled.core.hashing import feature_hash\n"
        "    from coterie._compiled.core import text_fields as fields\n"
        "print(feature_hash('word=free', 18))\n"
        "print(*[each.message for each in caught], sep='\\n')\n"
    )
    done = run(code)
    assert done.returncode == 0, done.stderr
    number, *warned = done.stdout.splitlines()
    assert number == "22005"
    assert warned == [
        "compiled code is not kept on disk (neither the package's folder nor the user's cache can be written to), so "
        "every process compiles anew: set NUMBA_CACHE_DIR to a folder that can be written to"
    ]


def test_a_disk_that_is_full_of_compiled_code_does_not_stop_anybody(tmp_path, monkeypatch):
    def write_some_of_it(path, content):
        path.open("wb").close()
        raise OSError(28, "No space left on device")

    _numba._warn_not_saved.cache_clear()
    files = _numba._Files(tmp_path / "some function")
    monkeypatch.setattr(Path, "write_bytes", write_some_of_it)
    with pytest.warns(RuntimeWarning, match=r"compiled code is not kept on disk \(.*: No space left on device\)"):
        files.save(("types", b"sources"), "code")
    monkeypatch.undo()
    assert list(tmp_path.iterdir()) == []
    files.save(("types", b"sources"), "code")
    assert files.load(("types", b"sources")) == "code"
    _numba._warn_not_saved.cache_clear()
