"""Compiled code: memory is asked for where it pays, what it was given is let go of, and code of before is passed over."""

import os
import sys
from itertools import product

import numpy as np
import pytest
from numba import njit
from scipy.sparse import csr_array

import coterie as ct
from coterie._compiled.core.records import Csr, Dense
from coterie._compiled.weights.table import prefetch_row
from coterie.models.state import arrays_of
from coterie.updates.weights.storage import Storage
from slow import but_slowly, slow
from test_processes import run

SPARSE_RECORD = Csr(np.ones(1), np.zeros(1, np.int32), np.array([0, 1]))
DENSE_RECORD = Dense(np.ones((1, 4)))


@pytest.mark.parametrize(
    ("kind", "paired"),
    but_slowly(list(product(["dense", "sparse"], [False, True])), ("dense", True), ("sparse", False)),
)
def test_records_with_few_features_have_their_weights_asked_for_ahead(kind, paired):
    table = Storage(kind, 1 + paired).make_table(2, 4, dense=True)
    for rows, asked in ((SPARSE_RECORD, True), (DENSE_RECORD, kind == "sparse")):

        @njit
        def ask(table, rows):
            prefetch_row(table, 0, rows, 0)

        ask(table, rows)
        (code,) = ask.inspect_llvm().values()
        assert ("call void @llvm.prefetch" in code) == asked


MATRIX = np.eye(3) + 0.5
HOLDING = {
    "dense": lambda: ct.MultitaskPerceptron(),
    "sparse": lambda: ct.MultitaskPerceptron(storage="sparse"),
    "averaged": lambda: ct.MultitaskPerceptron(average=True),
    "logistic": lambda: ct.MultitaskLogistic(storage="sparse"),
    "AROW": lambda: ct.MultitaskAROW(),
    "forgetting": lambda: ct.MultitaskAROW(half_life=20.0),
    "matrix": lambda: ct.MultitaskPerceptron(ct.tasks.Interaction(MATRIX, tasks=("a", "b", "c"))),
    "graph": lambda: ct.MultitaskPerceptron(ct.TaskGraph([("a", "b"), ("b", "c")])),
    "learned": lambda: ct.MultitaskPerceptron(ct.LogDet(eta=0.01, step_norm=True)),
}


@pytest.mark.parametrize("name", [name if name in ("dense", "sparse", "averaged") else slow(name) for name in HOLDING])
def test_compiled_rounds_let_go_of_what_they_were_given(name):
    rng = np.random.default_rng(0)
    X, task = rng.normal(size=(40, 6)), np.array(["a", "b", "c"])[rng.integers(3, size=40)]
    y, X = X[:, 0] > 0, csr_array(X) if name == "sparse" else X
    model = HOLDING[name]().partial_fit(X, y, task=task)
    model_arrays = list(arrays_of(model.state_.model))
    before = [sys.getrefcount(array) for array in model_arrays]
    model.partial_fit(X, y, task=task)
    after = list(arrays_of(model.state_.model))
    assert all(one is other for one, other in zip(model_arrays, after, strict=True))
    del after
    assert [sys.getrefcount(array) for array in model_arrays] == before


MODULE = """
import os
import subprocess
import sys
from typing import NamedTuple

import numpy as np

from coterie._compiled.core.generic import compiled

{place}


@compiled
def size(held):
    return held.values.size


print(size({name}(np.ones(3))))
"""


def test_machine_code_of_before_a_type_moved_is_passed_over(tmp_path):
    there = "class Held(NamedTuple):\n    values: object\n"
    (tmp_path / "user.py").write_text(MODULE.format(place=there, name="Held"))
    _run(tmp_path, "0")
    (tmp_path / "elsewhere.py").write_text(f"from typing import NamedTuple\n\n\n{there}")
    lines = "\n" * there.count("\n")  # the function stays where it is, and its code is looked for under the same name
    (tmp_path / "user.py").write_text(MODULE.format(place=f"import elsewhere{lines}", name="elsewhere.Held"))
    _run(tmp_path, "1")


def _run(folder, version):
    """Run the module as another version of coterie would."""
    code = f"import coterie._compiled._numba as g\ng.numba_version = {version!r}\nimport user\n"
    done = run(code, NUMBA_CACHE_DIR=str(folder / "cache"), PYTHONPATH=os.pathsep.join([str(folder), *sys.path]))
    assert (done.returncode, done.stdout) == (0, "3\n"), done.stderr


FORWARDING = """
import numpy as np

import coterie as ct
from coterie._compiled.primal.stream import learn

X, task = np.eye(3), ["a", "b", "a"]
model = ct.MultitaskLogistic(half_life=20.0, storage="dense").partial_fit(X, [0, 1, 0], task=task)
print(model.coef_.tolist(), sum(learn.stats.cache_hits.values()))
"""


@pytest.mark.slow
def test_what_is_forwarded_comes_from_disk_in_the_next_process(tmp_path):
    outputs = []
    for _ in range(2):
        *weights, hits = run(FORWARDING, NUMBA_CACHE_DIR=str(tmp_path)).stdout.split()
        outputs.append((weights, hits))
    assert [hits for _, hits in outputs] == ["0", "1"]
    assert outputs[0][0] == outputs[1][0]
