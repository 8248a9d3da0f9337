"""Records that come through a pipe bit by bit: learned as they come, and none that was taken is lost."""

import array
import fcntl
import json
import os
import re
import signal
import subprocess
import termios
import threading
import time
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import coterie as ct
from coterie.expressions import LearnerExpression
from coterie.io import sources
from coterie.io.readers import read
from coterie.jobs import learning
from coterie.jobs.stopping import Stop
from terminal import QUICK, WHO, heed, rows, run, start, write_csv, write_rows

HALF = LearnerExpression("MultitaskLogistic()")
ROLES = {"label": "click", "task": "user"}
FORMATS = {"csv": "csv", "jsonl": "jsonl", "svm": "svmlight", "vw": "vw"}


@pytest.fixture(params=FORMATS)
def written(request, tmp_path):
    """A file of sixty records in each format of text, what is to be said of it, and how many lines it begins with."""
    path, given = write_rows(tmp_path, list(rows(60)))[request.param]
    return path, given | {"format": FORMATS[request.param]}, int(request.param == "csv")


@contextmanager
def piped(*pieces, gap=0.0, end=True):
    """The path of a pipe into which these pieces come one after the other; it stays open if it has no end."""
    ours, theirs = os.pipe()

    def fill():
        for piece in pieces:
            os.write(theirs, piece)
            time.sleep(gap)
        if end:
            os.close(theirs)

    filling = threading.Thread(target=fill)
    filling.start()
    try:
        yield f"/dev/fd/{ours}"
    finally:
        filling.join()
        os.close(ours)
        if not end:
            os.close(theirs)


def dense(block):
    return getattr(block.X, "toarray", lambda: block.X)()


def together(blocks):
    return [
        np.vstack([dense(each) for each in blocks]),
        *(np.concatenate([getattr(each, name) for each in blocks]) for name in ("y", "task", "place")),
    ]


@pytest.fixture
def soon(monkeypatch):
    """A piece is what comes within so little time that each write is one."""
    monkeypatch.setattr(sources, "GATHERED_SECONDS", 0.005)


def test_what_comes_bit_by_bit_is_what_is_in_a_file(written, soon):
    path, given, _ = written
    whole = list(read(path, **given))
    data = path.read_bytes()
    cuts = [0, 3, 5, *range(150, len(data), 400), len(data)]
    with piped(*(data[a:b] for a, b in pairwise(cuts)), gap=0.02) as pipe:
        found = list(read(pipe, **given))
    for one, other in zip(together(found), together(whole), strict=True):
        np.testing.assert_array_equal(one, other)


def test_records_are_delivered_as_they_come(written, soon):
    path, given, head = written
    made = read(path, **given)
    list(made)
    lines = path.read_bytes().splitlines(keepends=True)
    with piped(b"".join(lines[:head] + lines[1:20]), lines[20] + lines[21][:4], gap=0.3, end=False) as pipe:
        blocks = iter(read(pipe, encoder=made.encoder, **given))
        assert [len(next(blocks)), len(next(blocks))] == [19, 1]


def test_keys_and_types_of_json_that_come_late_are_read_as_in_a_file(tmp_path, soon):
    path = tmp_path / "s.jsonl"
    records = [
        {"user": "u1", "x": 1, "age": 3},
        {"user": "u2", "x": 2, "new": None, "age": 4},
        {"user": "u1", "x": 0.5, "new": True, "seen": "2024-02-29", "age": 4},
        {"user": "u2", "new": False, "tags": ["a", "b"], "age": 2.5},
    ]
    lines = [json.dumps(record).encode() + b"\n" for record in records]
    path.write_bytes(b"".join(lines))
    made = read(path, task="user", label="age", scale="none")
    whole = list(made)
    with piped(*lines, gap=0.2) as pipe:
        reader = read(pipe, format="jsonl", encoder=made.encoder, label="age", update=False)
        found = list(reader)
    assert [len(block) for block in found] == [1, 1, 1, 1]
    for one, other in zip(together(found), together(whole), strict=True):
        np.testing.assert_array_equal(one, other)
    assert reader.lacking == {}
    with piped(*lines[:2]) as pipe:
        reader = read(pipe, format="jsonl", encoder=made.encoder, update=False)
        list(reader)
    assert reader.lacking == {pipe: ["seen", "tags"]}


def test_an_end_that_is_asked_for_gives_all_that_was_taken(written):
    path, given, head = written
    whole = list(read(path, **given))
    data = path.read_bytes()
    until = data.index(b"\n", 900) + 1
    with piped(data[: until + 5], end=False) as pipe:  # and a part of a record
        reader = read(pipe, block_rows=7, **given)
        begun = time.monotonic()
        reader.end_when(lambda: time.monotonic() > begun + 0.3)
        found = list(reader)
    assert not reader.holding
    n = data[:until].count(b"\n") - head
    assert sum(map(len, found)) == n
    for one, other in zip(together(found), together(whole), strict=True):
        np.testing.assert_array_equal(one, other[:n])


def test_files_after_a_pipe_that_was_ended_are_not_opened(tmp_path):
    path = write_csv(tmp_path / "s.csv", list(rows(60)))
    with piped(path.read_bytes(), end=False) as pipe:
        reader = read([pipe, str(path)], format="csv", **ROLES)
        begun = time.monotonic()
        reader.end_when(lambda: time.monotonic() > begun + 0.3)
        assert sum(map(len, reader)) == 60


def test_a_header_that_comes_in_parts_has_the_delimiter_of_the_whole(tmp_path, soon):
    path = write_csv(tmp_path / "s.csv", rows(9), ("user", "price", "click"))
    data = path.read_bytes().replace(b",", b";").replace(b"user;price;click", b"user,x;price;click;a;b")
    lines = [line + b";1;2" * (i > 0) for i, line in enumerate(data.splitlines())]
    data = b"\n".join(lines) + b"\n"
    encoder = read(path, **ROLES)
    list(encoder)
    (tmp_path / "t.csv").write_bytes(data)
    asked = {"encoder": encoder.encoder, "label": "click", "task": "user,x"}
    (whole,) = read(tmp_path / "t.csv", **asked)
    with piped(data[:9], data[9:], gap=0.3) as pipe:
        found = list(read(pipe, format="csv", **asked))
    for one, other in zip(together(found), together([whole]), strict=True):
        np.testing.assert_array_equal(one, other)


def test_blocks_of_a_pipe_are_learned_to_their_end_when_a_signal_comes(tmp_path):
    path = write_csv(tmp_path / "s.csv", list(rows(200)))
    seen = []

    def told(traces):
        seen.append(len(next(iter(traces.values())).margin))
        if len(seen) == 2:
            signal.raise_signal(signal.SIGTERM)

    with piped(path.read_bytes()) as pipe, Stop() as stop:
        reader = read(pipe, format="csv", scale="auto", block_rows=30, **ROLES)
        outcome = learning.learn(reader, {"half": HALF}, alone=True, on_round=told, stop=stop)
    assert (outcome.stopped, sum(seen), outcome.reading.rows) == (signal.SIGTERM, 200, 200)
    whole = learning.learn(read(path, scale="auto", **ROLES), {"half": HALF}, alone=True)
    X = dense(next(iter(read(path, encoder=whole.model.encoder_))))
    np.testing.assert_array_equal(
        outcome.model.decision_function(X, task=["u1"] * 200), whole.model.decision_function(X, task=["u1"] * 200)
    )


# -- commands


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return write_csv(Path("s.csv"), rows(400)).read_bytes()


def begin(*options):
    command = ("learn", "-", "--format", "csv", *options)
    return start(
        *command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0, preexec_fn=heed
    )


def give(process, piece):
    """Write into the pipe and wait until it is taken."""
    process.stdin.write(piece)
    left = array.array("i", [1])
    deadline = time.monotonic() + 60
    while left[0] and time.monotonic() < deadline:
        time.sleep(0.1)
        fcntl.ioctl(process.stdin, termios.FIONREAD, left)
    assert left[0] == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_what_a_slow_pipe_brought_is_saved_when_a_run_is_stopped(data, number):
    process = begin(*WHO, *QUICK, "--output", "m.coterie", "--save-every", "100")
    end = data.index(b"\n", 5000) + 1
    give(process, data[:2000])
    give(process, data[2000 : end + 7])
    process.send_signal(number)
    err = process.communicate(timeout=120)[1].decode()
    assert process.returncode == 128 + number
    n = data[:end].count(b"\n") - 1
    assert re.search(rf"coterie: stopped after {n} records; to go on: coterie learn - --from m.coterie", err)
    Path("part.csv").write_bytes(data[:end])
    run("learn", "part.csv", *WHO, *QUICK, "-q", "--output", "whole.coterie")
    assert Path("m.coterie").read_bytes() == Path("whole.coterie").read_bytes()


def test_a_model_that_goes_on_learns_and_saves_what_a_pipe_brings(data):
    run("learn", "s.csv", *WHO, *QUICK, "-q", "--output", "m.coterie")
    process = begin("--from", "m.coterie", "--output", "n.coterie", "--save-every", "50", "-q")
    process.stdin.write(data[: data.index(b"\n", 3000) + 1])
    line = process.stderr.readline()  # the pipe is still open
    n = data[:3001].count(b"\n")
    assert line == f"coterie: saved n.coterie after {n} records\n".encode()
    assert ct.load("n.coterie").state_.rounds == 400 + n
    process.kill()
    process.communicate(timeout=60)


def test_a_pipe_with_a_header_alone_has_no_record_to_save(data):
    process = begin(*WHO, "--output", "m.coterie")
    give(process, data[: data.index(b"\n") + 9])
    process.send_signal(signal.SIGTERM)
    err = process.communicate(timeout=60)[1].decode()
    assert err.splitlines()[-1] == "coterie: stopped before a record was learned: nothing was saved"
    assert (process.returncode, Path("m.coterie").exists()) == (143, False)
