"""Time from nothing to a learned record: `import coterie` and one `learn_one`, in a process of its own.

python -m bench.cold_start
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time

CODE = """
import coterie
coterie.MultitaskPerceptron().learn_one({"price": 1.0}, True, task="u42")
"""
STARTS = 5


def start(cache: str) -> float:
    """Wall-clock seconds of one start, with compiled code kept in the folder ``cache``."""
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-c", CODE], env=os.environ | {"NUMBA_CACHE_DIR": cache}, check=True)
    return time.perf_counter() - begun


def main() -> None:
    with tempfile.TemporaryDirectory() as cache:
        first = start(cache)
        later = [start(cache) for _ in range(STARTS)]
    print("| what | target | ours | verdict |\n|---|---|---|---|")
    rows = [("first start ever, compiling", 10.0, [first]), ("second and later starts", 1.0, later)]
    for what, target, seconds in rows:
        ours, verdict = statistics.median(seconds), "reached" if statistics.median(seconds) <= target else "MISSED"
        print(f"| {what} | ≤ {target} s | {ours:.2f} s ({min(seconds):.2f}–{max(seconds):.2f}) | {verdict} |")


if __name__ == "__main__":
    main()
