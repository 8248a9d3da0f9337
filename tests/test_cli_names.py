"""Names of tasks, files and columns come from strangers: they command no terminal, and break no table."""

import csv
import os
import pty
import re
import subprocess
from pathlib import Path

import pytest

from coterie.wording import visible
from terminal import QUICK, WHO, rows, run, start

#: A colour, a new title, the C1 form of an escape, a newline, a line separator, a turn of the direction, a lone half.
EVIL = "a\x1b[31m\x1b]0;owned\x07\x9b2J\nb\r\u2028c\u202ed\x7f"
SHOWN = r"a\x1b[31m\x1b]0;owned\x07\x9b2J\nb\r\u2028c\u202ed\x7f"
COMMANDS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\ud800-\udfff]")


@pytest.fixture
def folder(working_folder):
    """Records whose second task, a column that is not used, and a file's name are evil."""
    names = ("user", "price", "age", "click")
    with Path("s.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*names, EVIL])
        for row in rows():
            writer.writerow([EVIL if row["user"] == "u1" else row["user"], *(row[name] for name in names[1:]), "x"])
    Path(f"{EVIL}.csv").write_bytes(Path("s.csv").read_bytes())
    return working_folder


@pytest.fixture
def model(folder):
    run("learn", "s.csv", *WHO, *QUICK, "-q", "--ignore", EVIL, "--output", "m.coterie")
    return "m.coterie"


def lines_of(result):
    assert COMMANDS.search(result.output) is None, result.output
    return result.output.splitlines()


def test_signs_that_command_are_spelled_out_and_no_others():
    assert visible(EVIL) == SHOWN
    assert visible(visible(EVIL)) == SHOWN
    for name in ("Zoë", "東京", "a – b", "\N{NO-BREAK SPACE}", "مرحبا", "👩\u200d🚀", "\\n"):
        assert visible(name) == name
    assert visible("\udcff") == r"\udcff"


def test_a_summary_names_tasks_files_and_columns_in_plain_signs(folder):
    result = run("learn", f"{EVIL}.csv", *WHO, "--ignore", EVIL, "--output", f"{EVIL}.coterie")
    lines = lines_of(result)
    assert f"Not used: {SHOWN} (it was to be ignored)" in lines
    assert any(line.startswith(f"Model: {SHOWN}.coterie (") for line in lines)
    assert Path(f"{EVIL}.coterie").exists()
    assert "together" in result.stderr  # the progress
    assert COMMANDS.search(result.stderr) is None
    report = run("learn", "s.csv", *WHO, "--ignore", EVIL, "--report", f"{EVIL}.html")
    assert f"Report: {SHOWN}.html (open it in a browser)" in lines_of(report)
    name = os.fsdecode(b"caf\xe9.csv")  # which is no text
    Path(name).write_bytes(Path("s.csv").read_bytes())
    result = run("learn", name, *WHO, "--ignore", EVIL, *QUICK, "--output", f"{name}.coterie")
    assert any(line.startswith(r"Model: caf\udce9.csv.coterie") for line in lines_of(result))


def test_predictions_are_the_data_themselves_except_on_a_terminal(folder, model):
    piped = run("predict", model, "s.csv").stdout
    assert EVIL in {row["task"] for row in csv.DictReader(piped.splitlines(keepends=True))}
    ours, theirs = pty.openpty()
    process = start("predict", model, "s.csv", stdout=theirs, stderr=subprocess.DEVNULL)
    os.close(theirs)
    seen = b""
    try:
        while piece := os.read(ours, 1 << 16):
            seen += piece
    except OSError:  # a terminal whose other end is closed
        pass
    os.close(ours)
    assert process.wait(timeout=300) == 0
    text = seen.decode().replace("\r\n", "\n")
    assert COMMANDS.search(text) is None
    assert sum(SHOWN in line for line in text.splitlines()) == sum(row["user"] == "u1" for row in rows())
