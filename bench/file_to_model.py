"""A whole process, from a text file to a saved model: `coterie learn` against Vowpal Wabbit.

    python -m bench.file_to_model [--quick]

K = 100 tasks, 2^18 features. Each side is a process of its own, started, run and ended; CPU seconds of all its threads,
wall seconds behind them. From text both read the same file in Vowpal Wabbit's format. From the best binary form, Vowpal
Wabbit reads its cache, and ours arrays (.npy, CSR) that are mapped into memory, through the Python API, a block that
needs no validation. Weights have 32 bits on both sides. Ours is passive-aggressive, hashed into 2^24 places as Vowpal
Wabbit's weights are; Vowpal Wabbit has its default rate and no predictions to write.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from bench import streams, vowpal
from bench.harness import Row, Timing, at_least, main
from coterie.data.block import Block

TASKS = 100
LEARNER = "MultitaskPerceptron(rule=PassiveAggressive())"
FROM_ARRAYS = """
import coterie as ct, numpy as np
from coterie.data.block import Block
from scipy.sparse import csr_array
data, indices, indptr, y, task = (np.load(f"{folder}/{{name}}.npy", mmap_mode="c") for name in {names})
model = ct.MultitaskPerceptron(rule=ct.updates.PassiveAggressive())
X = csr_array((data, indices, indptr), shape=(len(y), {features}))
model.__stream_model__().learn(Block(X, y, task, np.arange(len(y))))
model.save("{model}")
"""
VOWPAL = "from vowpalwabbit import Workspace; Workspace({arguments!r}).finish()"
NAMES = ("data", "indices", "indptr", "y", "task")


def process(command: list[str]) -> tuple[float, float]:
    """CPU and wall seconds of a process; bytecode is kept, as it is where a library is installed."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    alone = {"NUMBA_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": ""}
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=os.environ | alone)
    after, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - begun
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


def commands(block: Block, text: Path, folder: Path) -> dict[str, list[str]]:
    """The four processes by name, and ours on ten records: what they take whatever the file."""
    values = block.X.data
    for name, array in zip(NAMES, (values, block.X.indices, block.X.indptr, block.y, block.task), strict=True):
        np.save(folder / f"{name}.npy", array)
    arrays = FROM_ARRAYS.format(folder=folder, names=NAMES, features=streams.TEXT_FEATURES, model=folder / "b.coterie")
    few = folder / "few.vw"
    vowpal.write(block.X[:10], block.y[:10], block.task[:10], few)
    python, ours = [sys.executable, "-c"], str(Path(sys.executable).with_name("coterie"))

    options = ["--task", "t", "--scale", "none", "--learner", LEARNER, "--alone", "--quiet"]

    def learn(file: Path) -> list[str]:
        return [ours, "learn", str(file), *options, "-o", str(folder / "a.coterie"), "--force"]

    peers = [vowpal.arguments(text, ("hinge", "crossed", 0.5), 24, cache) for cache in (False, True)]
    return {
        "ours, text": learn(text),
        "vw, text": [*python, VOWPAL.format(arguments=f"{peers[0]} -f {folder}/a.model")],
        "ours, arrays": [*python, arrays],
        "vw, cache": [*python, VOWPAL.format(arguments=f"{peers[1]} -f {folder}/b.model")],
        "start": learn(few),
        "start, arrays": [*python, "import coterie as ct; ct.MultitaskPerceptron().learn_one({'a': 1.0}, True)"],
    }


def rows(quick: bool) -> Iterator[Row]:
    examples, repeats = (10_000, 1) if quick else (200_000, 3)
    block = streams.text(TASKS, examples)
    text = vowpal.file_of(block)
    found: dict[str, list[tuple[float, float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        asked = commands(block, text, Path(folder))
        for name, command in [*asked.items()] * (repeats + 1):
            found.setdefault(name, []).append(process(command))
    cpu, wall = ({name: Timing([each[k] for each in runs[1:]]) for name, runs in found.items()} for k in (0, 1))
    for ours, peer, start in (("ours, text", "vw, text", "start"), ("ours, arrays", "vw, cache", "start, arrays")):
        note = f"the same of ten records, or of one, takes {cpu[start].shown(unit='s')} of CPU time"
        what = f"file to model, {text.stat().st_size / 1e6:.0f} MB of text: {ours} over {peer}"
        yield at_least(f"{what}, CPU", None, cpu[ours], cpu[peer], 1, unit="s", floor=note)
        yield at_least(f"{what}, wall", None, wall[ours], wall[peer], 1, unit="s")


if __name__ == "__main__":
    main(rows, __doc__)
