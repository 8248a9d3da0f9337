"""What is left of `coterie serve` after it was killed, flooded, and asked nonsense.

    python -m bench.serve_broken kills 200

* ``kills N``: services with five kinds of learners, and one with a bandit, are killed (kill -9) N times while three
  clients predict and observe, or choose and reward. Then every acknowledged label must have been learned, none twice,
  the bits must be those of the journal learned in one go, and every id that was chosen for has the same answer.
* ``soak SECONDS``: eight clients for so long; the memory of the process must have come to rest.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from http.client import HTTPException
from pathlib import Path
from typing import Any

import msgspec

from coterie import persistence
from coterie.server import service as services
from coterie.server.events import JournalRecord, decode_frame
from coterie.server.journal import Journal
from coterie.server.service import Service, snapshots_in

KINDS = {
    "default": (),
    "logistic": ("--learner", "MultitaskLogistic()"),
    "b = 1": ("--learner", "MultitaskLogistic(MeanRegularized(b=1))"),
    "averaged": ("--learner", "MultitaskPerceptron(rule=Perceptron(), average=True)"),
    "learned relation": ("--learner", "MultitaskPerceptron(LogDet(0.001), Perceptron())"),
    "bandit": ("--bandit",),
}


def start(folder: Path, *options: str) -> tuple[subprocess.Popen[str], str]:
    """A service as its user starts it, and its address."""
    code = (
        "import coterie.server.service as s; s.KEPT = 10**6; from coterie.cli import main; main()"  # the whole journal
    )
    command = [sys.executable, "-c", code, "serve", "--data", str(folder), "--port", "0", *options]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    line = process.stderr.readline() if process.stderr else ""
    if "listening on" not in line:
        raise SystemExit(f"it does not start: {line}{process.stderr.read() if process.stderr else ''}")
    return process, line.split("listening on ")[1].strip()


def post(url: str, path: str, records: list[Any]) -> Any:
    body = json.dumps({"records": records}).encode()
    with urllib.request.urlopen(urllib.request.Request(f"{url}/{path}", body), timeout=60) as answer:
        return json.load(answer)


class Client(threading.Thread):
    """Predicts and observes until it is stopped or nobody answers."""

    def __init__(self, url: str, seed: int) -> None:
        super().__init__()
        self.url, self.draw, self.stopped = url, random.Random(seed), False
        self.acknowledged: set[str] = set()
        self.told: list[tuple[dict[str, Any], dict[str, Any]]] = []

    def run(self) -> None:
        while not self.stopped:
            names = [f"{self.draw.random()}" for _ in range(self.draw.randrange(1, 20))]
            records = [
                {
                    "id": name,
                    "task": f"u{self.draw.randrange(20)}",
                    "x": {f"x{j}": self.draw.gauss(0, 1) for j in range(5)},
                }
                for name in names
            ]
            try:
                if self.go_on(records) == len(names):
                    self.acknowledged.update(names)
            except (urllib.error.URLError, HTTPException, ConnectionError, TimeoutError):
                return

    def go_on(self, records: list[dict[str, Any]]) -> int:
        """How many records were learned."""
        post(self.url, "predict", records)
        labels = [{"id": each["id"], "y": sum(each["x"].values()) > 0} for each in records]
        return int(post(self.url, "observe", labels)["learned"])


class Choosing(Client):
    """Chooses and rewards until it is stopped or nobody answers."""

    def go_on(self, records: list[dict[str, Any]]) -> int:
        """How many records were rewarded."""
        offers = [each | {"actions": ["a", "b", "c"]} for each in records]
        choices = post(self.url, "choose", offers)["choices"]
        self.told += zip(offers, choices, strict=True)
        rewards = [{"id": each["id"], "reward": float(each["action"] == "b")} for each in choices]
        return int(post(self.url, "reward", rewards)["rewarded"])


def digest(engine: Any) -> tuple[str, dict[str, bytes]]:
    data, arrays = engine.__dump__()
    return repr(data), {name: array.tobytes() for name, array in arrays.items()}


def compile_for(*options: str) -> None:
    """Let a service learn once, so that those that are killed find its code compiled."""
    with tempfile.TemporaryDirectory() as made:
        process, url = start(Path(made), *options)
        for n in (20, 1) if "--bandit" not in options else ():
            records = [{"task": f"u{k}", "x": {"x0": 1.0}, "y": k % 2 == 0} for k in range(n)]
            post(url, "observe", records)
            post(url, "predict", [{"task": each["task"], "x": each["x"]} for each in records])
        process.terminate()
        process.communicate()


def kills(trials: int) -> None:
    services.KEPT = 10**6
    draw = random.Random(0)
    for k, (kind, options) in enumerate(KINDS.items()):
        compile_for(*options)
        done = trials // len(KINDS) + (k < trials % len(KINDS))
        with tempfile.TemporaryDirectory() as made:
            folder, acknowledged, answers = Path(made), set[str](), list[Any]()
            for trial in range(done):
                process, url = start(folder, *options, "--snapshot", "300")
                of_kind = Choosing if kind == "bandit" else Client
                clients = [of_kind(url, 1000 * trial + 10 * k + n) for n in range(3)]
                for each in clients:
                    each.start()
                time.sleep(draw.uniform(0.1, 1.5))
                process.kill()
                process.communicate()
                for each in clients:
                    each.stopped = True
                    each.join()
                    acknowledged |= each.acknowledged
                    answers += each.told
            with Service(folder, lambda: None) as service:
                lost = len(acknowledged - set(service.engine.learned))
                told = digest(service.engine)
            other = other_answers(folder, answers) if answers else 0
            again = persistence.load(snapshots_in(folder)[0])
            journal = Journal(folder)
            for frame in journal.read(again.offset):
                again.apply_frame(decode_frame(frame.payload), frame.end)
            journal.close()
            twice = again.features.n - len(again.learned)
            bits = "equal" if digest(again) == told else "DIFFERENT"
            if other:
                bits += f", {other} of {len(answers):,} ANSWERS OTHER THAN BEFORE"
        print(f"| {kind} | {done} | {len(acknowledged):,} | {lost} | {twice} | {bits} |", flush=True)


def other_answers(folder: Path, answers: list[Any]) -> int:
    """How many ids have another answer than before; asked of a copy."""
    with tempfile.TemporaryDirectory() as made:
        copy = Path(shutil.copytree(folder, Path(made) / "copy", ignore=shutil.ignore_patterns("lock")))
        with Service(copy, lambda: None) as service:
            asked = [JournalRecord(each["id"], each["task"], each["x"], actions=each["actions"]) for each, _ in answers]
            told = msgspec.to_builtins(service.choose(asked).choices)
    return sum(now != before for now, (_, before) in zip(told, answers, strict=True))


def resident(pid: int) -> float:
    """MiB of a process."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1024


def soak(seconds: float) -> None:
    with tempfile.TemporaryDirectory() as made:
        process, url = start(Path(made), "--snapshot", "10s", "--remember", "10000")
        clients = [Client(url, n) for n in range(8)]
        for each in clients:
            each.start()
        for step in range(11):
            print(
                f"| {step * seconds / 10:.0f} | {sum(len(each.acknowledged) for each in clients):,} | {resident(process.pid):.0f} |",
                flush=True,
            )
            time.sleep(seconds / 10 if step < 10 else 0)
        for each in clients:
            each.stopped = True
            each.join()
        process.terminate()
        process.communicate()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("kills", "soak"))
    parser.add_argument("much", type=float)
    asked = parser.parse_args()
    if asked.what == "kills":
        print("| learner | kills | labels acknowledged | lost | twice | bits |\n|---|---|---|---|---|---|")
        kills(int(asked.much))
    else:
        print("| seconds | labels acknowledged | MiB |\n|---|---|---|")
        soak(asked.much)


if __name__ == "__main__":
    main()
