"""Time from nothing to a learned record: `import coterie` and one `learn_one`, in a process of its own.

python -m bench.cold_start [--quick]
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

from bench.harness import Row, Timing, main, within

CODE = """
import coterie
coterie.MultitaskPerceptron().learn_one({"price": 1.0}, True, task="u42")
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
        first = start(cache)
        later = [start(cache) for _ in range(2 if quick else STARTS)]
    bare = [start(cache, "import numpy, numba") for _ in range(2 if quick else STARTS)]
    note = f"Python with numpy and numba alone takes {Timing(bare).shown(unit='s')}"
    yield within("import coterie and one learn_one: first start ever, compiling", 10.0, Timing([first]))
    yield within("import coterie and one learn_one: second and later starts", 1.0, Timing(later), floor=note)


if __name__ == "__main__":
    main(rows, __doc__)
