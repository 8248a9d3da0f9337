"""Start time: `import coterie` and one `learn_one` in a new process.

python -m bench.cold_start [--quick]
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench.harness import Row, Timing, main, within

CODE = """
import coterie
coterie.MultitaskPerceptron().learn_one({"price": 1.0}, True, task="u42")
"""
#: The least that anybody has to load who has numba keep its code.
ONE_LINE = """
from numba import njit

@njit(cache=True)
def same(x):
    return x
"""
STARTS = 9


def start(cache: str, code: str = CODE) -> float:
    """Wall-clock seconds of one start, machine code being kept in the folder ``cache``, bytecode beside its modules."""
    kept = {"NUMBA_CACHE_DIR": cache, "PYTHONDONTWRITEBYTECODE": ""}
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], env=os.environ | kept, check=True)
    return time.perf_counter() - begun


def rows(quick: bool) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as cache:
        (Path(cache) / "one_line.py").write_text(ONE_LINE)
        codes = (
            CODE,
            "import numpy, numba",
            f"import sys; sys.path.append({cache!r}); import one_line; one_line.same(1)",
        )
        first, *_ = [start(cache, code) for code in codes]
        later, bare, one = ([start(cache, code) for _ in range(2 if quick else STARTS)] for code in codes)
    yield within("import coterie and one learn_one: first start ever, compiling", 10.0, Timing([first]))
    yield within("import coterie and one learn_one: second and later starts", 1.0, Timing(later))
    for what, seconds in (
        ("Python with numpy and numba", bare),
        ("the same, loading a kept function of one line", one),
    ):
        yield Row(what, "–", Timing(seconds).shown(unit="s"))


if __name__ == "__main__":
    main(rows, __doc__)
