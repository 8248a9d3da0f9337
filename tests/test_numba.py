"""What is relied on of numba that is no public interface, and doing without it."""

import pytest
from numba.core.caching import FunctionCache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase
from numba.core.dispatcher import Dispatcher
from numba.core.runtime.nrt import rtsys

from coterie._compiled import _numba
from coterie._compiled.core.generic import compiled
from test_processes import run

LIBRARY = ("add_linking_library", "get_pointer_to_function", "_optimize_final_module", "_finalize_final_module")
LIBRARY += ("_finalize_dynamic_globals", "_verify_declare_only_symbols", "_ensure_finalized")


@pytest.mark.parametrize(
    ("owner", "names"),
    [
        (JITCodeLibrary, LIBRARY),
        (CompilerBase, ("compile_extra",)),
        (FunctionCache, ("_index_key", "load_overload", "save_overload")),
        (Dispatcher, ("get_call_template", "get_overload", "enable_caching")),
        (type(rtsys), ("initialize",)),
    ],
)
def test_numba_has_the_private_names(owner, names):
    assert [name for name in names if not hasattr(owner, name)] == []


def test_code_is_cached_and_linked_by_the_private_names():
    @compiled
    def double(x):
        return 2.0 * x

    assert isinstance(double._cache, _numba._Cache)
    assert isinstance(double._cache._cache_file, _numba._Files)
    assert double.linked.targetoptions["no_cpython_wrapper"]
    assert double(1.5) == 3.0
    assert rtsys.library is not None


LEARNING = """
import numpy as np

import coterie as ct

rng = np.random.default_rng(0)
X, y, task = rng.normal(size=(200, 3)), rng.choice([0, 1], 200), rng.integers(3, size=200)
model = ct.MultitaskPerceptron()
for x, label, t in zip(X, y, task):
    model.learn_one(dict(zip("abc", x.tolist())), label, task=int(t))
print(model.coef_.tolist())
"""


@pytest.mark.slow
def test_numba_as_it_comes_gives_the_same_bits(tmp_path):
    outputs = []
    for stock in ("0", "1"):
        done = run(LEARNING, COTERIE_STOCK_NUMBA=stock, NUMBA_CACHE_DIR=str(tmp_path))
        assert done.returncode == 0, done.stderr
        outputs.append(done.stdout)
    assert outputs[0] == outputs[1]
