"""Records that come through a pipe: read as those of a file are."""

import os
import re
import signal
import subprocess
import threading
import time
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from coterie.data.readers import read
from terminal import QUICK, WHO, heed, rows, run, start, write_csv, write_rows
from test_readers import whole

FORMATS = {"csv": "csv", "jsonl": "jsonl", "svm": "svmlight", "vw": "vw"}


@contextmanager
def piped(*pieces, gap=0.0):
    """The path of a pipe into which these pieces come one after the other."""
    ours, theirs = os.pipe()

    def fill():
        for piece in pieces:
            os.write(theirs, piece)
            time.sleep(gap)
        os.close(theirs)

    filling = threading.Thread(target=fill)
    filling.start()
    try:
        yield f"/dev/fd/{ours}"
    finally:
        filling.join()
        os.close(ours)


@pytest.mark.parametrize("suffix", FORMATS)
def test_what_comes_bit_by_bit_is_what_is_in_a_file(suffix, tmp_path):
    path, options = write_rows(tmp_path, list(rows(60)))[suffix]
    expected, data = whole(read(path, **options)), path.read_bytes()
    with piped(*(data[a:b] for a, b in pairwise([0, 3, 5, *range(150, len(data), 400), len(data)])), gap=0.002) as pipe:
        (block,) = read(pipe, format=FORMATS[suffix], **options)
    for one, other in zip(whole([block]), expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_what_was_learned_of_standard_input_is_saved_when_a_run_is_stopped(working_folder):
    data = write_csv(Path("s.csv"), rows(400)).read_bytes()
    header, _, records = data.partition(b"\n")
    data = header + b"\n" + records * ((3 << 21) // len(records))  # of more than four mebibytes, and less than eight
    command = ("learn", "-", "--format", "csv", *WHO, *QUICK, "--output", "m.coterie", "--save-every", "1000")
    process = start(*command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0, preexec_fn=heed)
    process.stdin.write(data)
    while b"saved" not in process.stderr.readline():
        pass
    time.sleep(0.5)
    process.send_signal(signal.SIGTERM)
    err = process.communicate(timeout=300)[1].decode()
    assert process.returncode == 128 + signal.SIGTERM
    match = re.search(r"coterie: stopped after ([\d,]+) records; to continue: coterie learn - --from m.coterie", err)
    n = int(match[1].replace(",", ""))
    Path("part.csv").write_bytes(b"\n".join(data.split(b"\n")[: n + 1]) + b"\n")
    run("learn", "part.csv", *WHO, *QUICK, "-q", "--output", "whole.coterie")
    assert Path("m.coterie").read_bytes() == Path("whole.coterie").read_bytes()
