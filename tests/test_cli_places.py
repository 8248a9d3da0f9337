"""No command writes over what it reads, over another file of its own, or over what is evidently something else."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import coterie as ct
from coterie import persistence
from faults import failing_once, full_disk
from terminal import QUICK, WHO, refused, rows, run, write_csv


@pytest.fixture
def folder(model_folder, working_folder):
    for name, content in FILES.items():
        Path(name).write_bytes(content)
    for name in ("s.csv", "m.coterie"):
        Path(name).write_bytes((model_folder / name).read_bytes())
    Path("link.csv").symlink_to("s.csv")
    Path("link.coterie").symlink_to("m.coterie")
    Path("page.html").symlink_to("s.csv")
    Path("sub").mkdir()
    Path("sub.html").mkdir()
    return working_folder


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory):
    """A model and the records it learned from."""
    folder = tmp_path_factory.mktemp("made")
    run("learn", write_csv(folder / "s.csv", rows()), *WHO, *QUICK, "-q", "--output", folder / "m.coterie")
    return folder


FILES = {"groups.csv": b"u0,a\nu1,b\nu2,a\nu3,b\nu4,a\n", "near.csv": b"u0,u1\nu2,u3\n"}
FILES |= dict.fromkeys(("notes.txt", "notes.html"), b"what I know of users\n")


def contents(folder):
    return {path: path.read_bytes() for path in folder.iterdir() if path.is_file()}


READ = "is already used by this command; name another file"
EXISTS = "exists; name another file, or pass --force"
FOLDER = "is a folder; name a file"
LEARN = "learn s.csv --task user --label click"
DESTRUCTIVE = [
    (f"{LEARN} --output s.csv", f"--output: 's.csv' {READ}"),
    (f"{LEARN} --output ./s.csv --force", f"--output: 's.csv' {READ}"),
    (f"{LEARN} --output link.csv --force", f"--output: 'link.csv' {READ}"),
    ("learn link.csv --task user --label click --output s.csv", f"--output: 's.csv' {READ}"),
    ("learn s*.csv --task user --label click --output s.csv", f"--output: 's.csv' {READ}"),
    (f"{LEARN} --report page.html", f"--report: 'page.html' {READ}"),
    (f"{LEARN} --learner MultitaskLogistic(Clusters.read('groups.csv')) --output groups.csv --force", READ),
    (f"{LEARN} --learner MultitaskPerceptron(TaskGraph.read('near.csv')) --output near.csv", READ),
    (f"{LEARN} --output sub/../x.html --report x.html", f"--report: 'x.html' {READ}"),
    (f"{LEARN} --output notes.txt", f"--output: 'notes.txt' {EXISTS}"),
    (f"{LEARN} --output m.coterie", f"--output: 'm.coterie' {EXISTS}"),
    (f"{LEARN} --report notes.html", f"--report: 'notes.html' {EXISTS}"),
    (f"{LEARN} --output sub --force", f"--output: 'sub' {FOLDER}"),
    (f"{LEARN} --report sub.html", f"--report: 'sub.html' {FOLDER}"),
    ("learn s.csv --from m.coterie --output s.csv --force", READ),
    ("ask m.coterie s.csv -o s.csv", READ),
    ("ask m.coterie s.csv -o m.coterie --force", READ),
    ("ask m.coterie s.csv -o notes.txt", EXISTS),
    ("ask m.coterie s.csv -o q.csv --save q.csv --force", f"--save: 'q.csv' {READ}"),
    ("ask m.coterie s.csv -o q.csv --save s.csv", f"--save: 's.csv' {READ}"),
    ("predict m.coterie s.csv --output link.csv --force", READ),
    ("predict m.coterie s.csv --output link.coterie --force", READ),
    ("predict m.coterie s.csv --output groups.csv", EXISTS),
    ("predict m.coterie s.csv --output sub", FOLDER),
    ("forget m.coterie --task u1 --output notes.txt", EXISTS),
    ("bandit s.csv --task user --action age --reward click --probability price -o notes.txt", EXISTS),
    ("bandit s.csv --task user --action age --reward click --probability price -o s.csv --force", READ),
    ("demo --report notes.html", EXISTS),
    ("demo --output notes.txt", EXISTS),
]


@pytest.mark.parametrize(("command", "message"), DESTRUCTIVE)
def test_what_would_be_destroyed_is_refused_and_stays(folder, command, message):
    before = contents(folder)
    assert message in refused(*command.split())
    assert contents(folder) == before


@pytest.mark.parametrize(("source", "target"), [("m.coterie", "m.coterie"), ("m.coterie", "link.coterie")])
def test_a_model_may_go_on_over_itself(folder, source, target):
    before = Path("m.coterie").read_bytes()
    run("learn", "s.csv", "--from", source, "--output", target, "-q")
    assert Path("m.coterie").read_bytes() != before
    assert Path("link.coterie").is_symlink()
    assert ct.load("m.coterie").state_.rounds == 600


def test_force_replaces_what_exists(folder):
    learn = f"{LEARN} --alone --learner MultitaskLogistic() -q --output notes.txt"
    for command in (learn, "predict m.coterie s.csv --output groups.csv"):
        before = contents(folder)[folder / command.split()[-1]]
        assert EXISTS in refused(*command.split())
        run(*command.split(), "--force")
        assert contents(folder)[folder / command.split()[-1]] != before


# -- places are tried before learning begins


UNWRITABLE = [
    f"{LEARN} --output /proc/m.coterie",
    f"{LEARN} --report /proc/r.html",
    "predict m.coterie s.csv --output /proc/p.csv",
    "demo --report /proc/r.html",
    "ask m.coterie s.csv -o /proc/q.csv",
]


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="no folder that nobody can write to")
@pytest.mark.parametrize("command", UNWRITABLE)
def test_a_folder_that_cannot_be_written_is_told_before_a_record_is_read(folder, monkeypatch, command):
    def read(self):
        raise AssertionError("records were read")

    monkeypatch.setattr("coterie.data.readers.Reader.__iter__", read)
    path = next(word for word in command.split() if word.startswith("/proc"))
    assert refused(*command.split()) == f"{path}: cannot be written: No such file or directory"


def test_a_full_disk_is_told_before_a_record_is_read(folder, monkeypatch):
    monkeypatch.setattr(persistence.os, "fsync", full_disk)
    monkeypatch.setattr("coterie.data.readers.Reader.__iter__", None)
    before = contents(folder)
    message = refused(*LEARN.split(), "--output", "new.coterie", code=1)
    assert message == "new.coterie: cannot be written: No space left on device"
    assert contents(folder) == before


# -- what cannot be saved in the end


def test_the_summary_is_printed_and_the_model_saved_elsewhere_if_saving_fails(folder, monkeypatch):
    before = contents(folder)
    failing, _ = failing_once(lambda handle: None, 1)
    monkeypatch.setattr(persistence.os, "fsync", failing)  # for the model: the trial is forced to the disk before it
    result = run(*LEARN.split(), "--alone", "--learner", "MultitaskLogistic()", "--output", "new.coterie", code=1)
    assert "error over 300 examples of 5 tasks" in result.stdout
    assert "Model:" not in result.stdout
    last = result.stderr.splitlines()[-1]
    rescued = Path(re.fullmatch(r"coterie: error: new.coterie: .*; the model was saved as (.*) instead", last)[1])
    assert ct.load(rescued).state_.rounds == 300
    rescued.unlink()
    rescued.parent.rmdir()
    assert contents(folder) == before


# -- leftovers of processes that were killed

KILLED = """
import os, signal, sys
from coterie.persistence import replacing
with replacing(sys.argv[1]) as file:
    file.write(b"half a mod")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def hidden(folder):
    return [path.name for path in folder.iterdir() if path.name.startswith(".")]


def test_what_a_killed_save_left_is_removed_by_the_next(tmp_path):
    target, mine = tmp_path / "m.coterie", tmp_path / ".m.coterie.settings"
    target.write_text("old")
    mine.write_text("mine")
    for _ in range(2):
        assert subprocess.run([sys.executable, "-c", KILLED, str(target)], check=False).returncode == -9
    assert target.read_text() == "old"
    assert len(hidden(tmp_path)) == 2  # the second has removed what the first left
    other = tmp_path / ".n.coterie.coterie-abcdefgh"
    other.write_text("of another target")
    with persistence.replacing(target) as file:
        file.write(b"new")
    assert target.read_text() == "new"
    assert sorted(hidden(tmp_path)) == [mine.name, other.name]


def test_what_a_living_process_writes_stays(tmp_path):
    target = tmp_path / "m.coterie"
    with persistence.replacing(target) as first:
        first.write(b"first")
        with persistence.replacing(target) as second:
            second.write(b"second")
        assert target.read_text() == "second"
        persistence.remove_leftovers(target)
        assert len(hidden(tmp_path)) == 1
    assert target.read_text() == "first"
    assert hidden(tmp_path) == []
