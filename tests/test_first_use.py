"""What is loaded when it is first used: in a process of its own, an estimator does what it does in a larger one."""

import importlib
import inspect
import json
import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import coterie as ct
from coterie import _compiled, spec
from coterie._compiled.core.generic import _BODIES
from public import NAMES as PUBLIC
from public import WHERE
from slow import slow

#: Runs each piece of code in a process that has never seen the package, but has what the package takes long to load.
ALONE = """
import contextlib, io, json, os, sys, traceback
import numba, numpy, scipy.linalg, scipy.sparse, sklearn.base
sys.argv = [sys.argv[0]]
for line in sys.stdin:
    assert "coterie" not in sys.modules
    come, go = os.pipe()
    if not os.fork():
        with contextlib.redirect_stdout(io.StringIO()) as said:
            try:
                exec(json.loads(line), {})
            except BaseException:
                traceback.print_exc(file=said)
        with open(go, "w") as out:
            out.write(said.getvalue())
        os._exit(0)
    os.close(go)
    with open(come) as said:
        print(json.dumps(said.read()), flush=True)
    os.wait()
"""


def module_of(public):
    """The module that a public name is from; a submodule's own name."""
    return public.__name__ if isinstance(public, ModuleType) else public.__module__


#: Every estimator, and one public name of each other module: what else is in it comes along.
ESTIMATORS = {name for name, kind in spec.ESTIMATORS.items() if not kind.__module__.startswith("coterie.server.")}
NAMES = sorted({*{module_of(getattr(ct, name)): name for name in ct.__all__}.values(), *ESTIMATORS})
SHOW = """
import json, sys
import {1}
from {1} import {0}
assert {1}.{0} is {0}
module = {0}.__name__ if isinstance({0}, type(sys)) else {0}.__module__
print(json.dumps([module, [name for name in sys.modules if name.startswith("coterie._compiled.")]]))
"""


@pytest.fixture(scope="module")
def alone():
    """Runs pieces of code, each in a process that has never seen the package, and returns what they printed."""
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(
        [sys.executable, "-c", ALONE], env=os.environ | {"OPENBLAS_NUM_THREADS": "1"}, **streams
    ) as other:

        def run(*codes):
            return [run_one(code) for code in codes]

        def run_one(code):
            print(json.dumps(code), file=other.stdin, flush=True)
            return json.loads(other.stdout.readline())

        yield run
        other.stdin.close()


def callers(function):
    """The modules in which a function that has a body for each type is called."""
    call = re.compile(rf"(?<!def )\b{function.__name__}\(")
    found_modules = pkgutil.walk_packages(_compiled.__path__, "coterie._compiled.")
    modules = [importlib.import_module(module.name) for module in found_modules]
    knowing = [module for module in modules if vars(module).get(function.__name__) is function]
    return {module.__name__ for module in knowing if call.search(inspect.getsource(module))}


#: Of the package's functions; other tests have some of their own.
CALLERS = {function: callers(function) for function in _BODIES if function.__module__.startswith(_compiled.__name__)}


def missing(loaded):
    """Bodies that compiled code of these modules may need, and that are in others."""
    return {
        (function.__name__, body.__module__)
        for function, calling in CALLERS.items()
        for kinds, body in _BODIES[function]
        if calling & loaded and {kind.__module__ for kind in kinds} <= loaded
        if body.__module__.startswith(_compiled.__name__) and body.__module__ not in loaded
    }


@pytest.mark.parametrize("name", [name if name == "AdaptiveSharingClassifier" else slow(name) for name in NAMES])
def test_a_name_alone_is_what_it_is_among_all(name, alone):
    ((module, loaded),) = map(json.loads, alone(SHOW.format(name, WHERE.get(name, "coterie"))))
    assert module == module_of(PUBLIC.get(name) or getattr(ct, name))
    if name in spec.ESTIMATORS and name != "SelectiveSampling":  # which calls what its model comes with
        assert missing({"builtins", *loaded}) == set()


@pytest.mark.parametrize(
    "part",
    [
        slow(ct.tasks.Primed(ct.LogDet(1e-3), 5)),
        slow(ct.updates.Forgetting(ct.updates.DiagonalAROW(), own=5.0)),
        slow(ct.kernels.Normalised(ct.kernels.Polynomial(3))),
        slow(ct.Member(ct.updates.AdaptiveGradient(), ct.Pooled(), ct.updates.Logistic())),
        slow(ct.MultitaskKernelPerceptron("linear").get_params()["kernel"]),
        ct.SelectiveSampling(ct.OneVsRest(ct.MultitaskLogistic(ct.Hierarchy("/", b=1.0)))),
    ],
    ids=repr,
)
def test_a_part_is_read_by_who_knows_nothing_of_it(part, alone):
    code = f"from coterie import spec; print(repr(spec.from_json({spec.to_json(part)!r})), end='')"
    assert alone(code) == [repr(part)]


def test_the_lists_of_names_are_part_of_the_package():
    folder = Path(ct.__file__).parent
    lazy = [path for path in folder.rglob("__init__.py") if "attach_stub" in path.read_text(encoding="utf-8")]
    assert len(lazy) > 5
    assert all(path.with_suffix(".pyi").exists() for path in lazy)
