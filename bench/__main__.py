"""Every target in one run, or the scripts that are named: see README.md beside this file.

python -m bench                       # all, up to an hour; what it prints is kept in docs/appendix/measured.md
python -m bench text one_record       # some
python -m bench --quick               # small sizes, to see that everything runs
"""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import sys
import time
from datetime import date
from pathlib import Path

from bench.harness import Row, show

SCRIPTS = ("text", "many_tasks", "dense", "file_to_model", "budgets", "one_record", "memory", "cold_start", "accuracy")


HEAD = """# Measured

What `{command}` printed on {day}, on {machine}.

Each row compares coterie with another program, or with the same work done in another way, in the same run. If the target
is "≥", the ratio is the time of the other side over that of coterie; if it is "≤", the reverse. For a row without a
target ("–"), compare the two times. A "lower limit" is the part of the work that cannot be avoided: it explains why a
target is missed or not set. `bench/README.md` says how sides are matched."""
CPU_INFO = Path("/proc/cpuinfo")


def machine() -> str:
    """The processor, the number of its cores that are here, and Python's version."""
    lines = CPU_INFO.read_text().splitlines() if CPU_INFO.exists() else []
    names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return f"{(names or [platform.machine()])[0]}, {os.cpu_count()} cores, Python {platform.python_version()}"


def run(name: str, quick: bool) -> list[Row]:
    """Run one script and print its table."""
    script = importlib.import_module(f"bench.{name}")
    print(f"\n## {name}\n\n{script.__doc__.splitlines()[0]}\n", flush=True)
    start = time.perf_counter()
    rows = show(script.rows(quick))
    print(f"\n{time.perf_counter() - start:.0f} s", flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("scripts", nargs="*", choices=[[], *SCRIPTS], metavar="script", help=", ".join(SCRIPTS))
    parser.add_argument("--quick", action="store_true", help="small sizes, few repetitions: to see that it runs")
    asked = parser.parse_args()
    print(HEAD.format(command=" ".join(["python -m bench", *sys.argv[1:]]), day=date.today(), machine=machine()))
    rows = [row for name in asked.scripts or SCRIPTS for row in run(name, asked.quick)]
    judged = [row for row in rows if row.reached is not None]
    short = [row for row in judged if not row.reached]
    print(f"\n## {len(judged) - len(short)} of {len(judged)} targets reached\n")
    for row in short:
        print(f"* falls short: {row.what}: {row.target}, ratio {row.ratio}, ours {row.ours}")


if __name__ == "__main__":
    main()
