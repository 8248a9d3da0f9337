"""Learners of ours against Vowpal Wabbit on one stream: examples per CPU second at no more mistakes.

Both sides choose their setting on the stream itself, in hindsight: Vowpal Wabbit the one with the fewest mistakes, of
its tasks crossed with every feature, two losses and three rates; ours the quickest of the candidates that make no more
mistakes than that, or the one with the fewest mistakes if there is none. All candidates stand in the script.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from bench import vowpal
from bench.harness import Row, Timing, at_least, cpu, side_by_side
from coterie.data.block import Block

Make = Callable[[], Any]
PEERS = [setting for setting in vowpal.SETTINGS if setting[1] == "crossed"]


def best_peer(block: Block, bits: int) -> tuple[vowpal.Setting, float]:
    """Vowpal Wabbit's setting with the fewest mistakes, and its error."""
    path = vowpal.file_of(block)
    errors = {each: vowpal.error(vowpal.learn(path, each, bits).margin, block.y) for each in PEERS}
    best = min(errors, key=lambda each: errors[each])
    return best, errors[best]


def trial(make: Make, block: Block) -> tuple[float, float]:
    """Error and CPU seconds of a learner, compiled before."""
    make().__stream_model__().learn(block.piece(0, 100))
    model, told = make(), []
    seconds = cpu(lambda: told.append(model.__stream_model__().learn(block).margin))
    return float(np.mean(told[0] * block.y <= 0)), seconds


def choose(candidates: Mapping[str, Make], block: Block, error: float) -> tuple[str, float]:
    """The candidate that runs, and its error."""
    trials = {name: trial(make, block) for name, make in candidates.items()}
    good = [name for name, (mistakes, _) in trials.items() if mistakes <= error]
    chosen = min(good, key=lambda name: trials[name][1]) if good else min(trials, key=lambda name: trials[name][0])
    return chosen, trials[chosen][0]


def race(
    what: str, block: Block, candidates: Mapping[str, Make], target: float | None, repeats: int, bits: int = 24
) -> Row:
    """The row of one stream: ours and Vowpal Wabbit from its binary cache, in turn."""
    setting, peer_error = best_peer(block, bits)
    name, error = choose(candidates, block, peer_error)
    path = vowpal.file_of(block)
    works = {
        "ours": lambda: candidates[name]().__stream_model__().learn(block),
        "peer": lambda: vowpal.run(path, setting, bits),
    }
    found = side_by_side(works, repeats)
    shown = f"{what}: {name}, error {error:.4f}; vw {setting[0]} -l {setting[2]:g}, error {peer_error:.4f}"
    return at_least(
        shown, target, found["ours"], found["peer"], len(block), fair=error <= peer_error, floor=_why(error, peer_error)
    )


def _why(error: float, peer_error: float) -> str:
    return f"it makes {error / peer_error - 1:.1%} more mistakes" if error > peer_error else ""


def feed(learn: Callable[[], Any]) -> Timing:
    """One run, for peers too slow for several."""
    return Timing([cpu(learn)])
