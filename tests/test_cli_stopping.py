"""Runs that are stopped lose nothing: what was learned is saved, and going on equals never having stopped."""

import json
import os
import pty
import re
import shlex
import signal
import subprocess
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import coterie as ct
from coterie.data.readers import read
from coterie.data.record_encoders import RecordEncoder
from coterie.evaluation import learning, stopping_signals
from coterie.evaluation.stopping_signals import Checkpoints, SaveInterval, Stop, Stopped
from coterie.expressions import LearnerExpression
from faults import failing_once, full_disk
from slow import slow
from states import digest
from terminal import QUICK, WHO, heed, rows, run, run_json, start, write_csv, write_rows
from test_readers import whole

HALF = LearnerExpression("MultitaskLogistic()")


def assert_same(one, other):
    """Of two models, or files of models."""
    one, other = (ct.load(source) if isinstance(source, (str, Path)) else source for source in (one, other))
    assert digest(one) == digest(other)


@pytest.fixture(autouse=True)
def heeded():
    """Let signals stop what a test runs, though what started the tests may ignore them."""
    own = {signal.SIGINT: signal.default_int_handler, signal.SIGHUP: signal.SIG_DFL}
    before = {number: signal.signal(number, handler) for number, handler in own.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


# -- a process that is sent a signal


@pytest.fixture
def long(working_folder):
    """Records of 2 kB: the first piece that is read, of 4 MiB, has some 2,000 of them."""
    records = [row | {"note": "x" * 2000} for row in rows(2600)]
    return write_csv(Path("long.csv"), records, ("user", "price", "age", "click", "note"))


def begun(data, *options, **streams):
    """A run that reads the first piece of a file, and then waits for more, at the other end of a pipe."""
    os.mkfifo("pipe.csv")
    process = start("learn", "pipe.csv", *WHO, "--ignore", "note", "--output", "m.coterie", *options, **streams)
    pipe = Path("pipe.csv").open("wb")  # noqa: SIM115 - opens when the command does, closed by the test
    pipe.write(data.read_bytes()[: 1 << 22])
    pipe.flush()
    return process, pipe


ENDS = [(signal.SIGINT, 130), slow(signal.SIGTERM, 143), slow(signal.SIGHUP, 129)]


@pytest.mark.parametrize(("number", "code"), ENDS)
def test_a_run_that_is_stopped_saves_and_can_go_on_bit_for_bit(long, number, code):
    more = QUICK if code == 143 else ()
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process, pipe = begun(long, *more, **streams, preexec_fn=heed)
    with pipe:
        next(line for line in process.stderr if "1,024" in line)  # the lines of a block come when it is learned
        process.send_signal(number)
        out, err = process.communicate(timeout=300)
    assert process.returncode == code
    match = re.fullmatch(r"coterie: stopped after ([\d,]+) records; to continue: (.*)", err.splitlines()[-1])
    records = int(match[1].replace(",", ""))
    assert 2000 < records < 2100
    assert match[2] == f"coterie learn pipe.csv --from m.coterie --output m.coterie --skip {records}"
    assert f"{records:,} examples" in " ".join(out.split())
    assert "Model: m.coterie (" in out
    _, *words = shlex.split(match[2].replace("pipe.csv", "long.csv"))
    run(*words, "-q")
    run("learn", "long.csv", *WHO, "--ignore", "note", "-q", "--output", "whole.coterie", *more)
    assert_same("m.coterie", "whole.coterie")
    assert sorted(path.name for path in Path().iterdir()) == ["long.csv", "m.coterie", "pipe.csv", "whole.coterie"]


def test_under_nohup_a_closed_terminal_stops_nothing(long):
    ours, theirs = pty.openpty()
    nohup = partial(signal.signal, signal.SIGHUP, signal.SIG_IGN)
    process, pipe = begun(long, *QUICK, stdout=subprocess.DEVNULL, stderr=theirs, preexec_fn=nohup)
    os.close(theirs)
    seen = b""
    with pipe:
        while b"1,024" not in seen:
            seen += os.read(ours, 1 << 12)
        os.close(ours)  # from now on standard error cannot be written
        process.send_signal(signal.SIGHUP)
        pipe.write(long.read_bytes()[1 << 22 :])
    assert process.wait(timeout=300) == 0
    assert ct.load("m.coterie").state_.rounds == 2600


# -- in one process


@pytest.fixture
def clicks(working_folder):
    return write_csv(Path("clicks.csv"), rows(400))


@pytest.fixture
def small_blocks(monkeypatch):
    """Commands read blocks of fifty records."""
    monkeypatch.setattr("coterie.data.readers.read", partial(read, block_rows=50))


def at_block(n, number=signal.SIGINT):
    """What a job is to call after each block; it sends a signal after the n-th."""
    seen = []

    def on_round(traces):
        seen.append(len(next(iter(traces.values())).margin))
        if len(seen) == n:
            signal.raise_signal(number)

    return on_round


def learned(records, alone=True, **options):
    """What comes of a run that can be stopped."""
    with Stop() as stop:
        return learning.learn(records, {"half": HALF}, alone=alone, stop=stop, **options)


def reader(path, **options):
    return read(path, label="click", task="user", scale="auto", block_rows=50, **options)


@pytest.mark.parametrize(("number", "alone"), [(signal.SIGINT, True), (signal.SIGTERM, False)])
def test_a_block_is_learned_to_its_end_by_all(clicks, number, alone):
    outcome = learned(reader(clicks), alone, on_round=at_block(3, number))
    assert (outcome.stopped, outcome.reading.rows) == (number, 150)
    assert {len(trace.margin) for trace in outcome.comparison.traces.values()} == {150}
    assert_same(outcome.model, learned(reader(write_csv(Path("first.csv"), list(rows(400))[:150])), alone).model)
    assert (signal.getsignal(number) is signal.default_int_handler) == (number == signal.SIGINT)


def test_a_block_that_was_being_read_leaves_no_trace(clicks, monkeypatch):
    clicks_reader, blocks, sound = reader(clicks), [], RecordEncoder.encode_sound

    def interrupted(self, batch, update=True):
        blocks.append(sound(self, batch, update))
        if len(blocks) == 3:  # its scales have learned from the third block
            signal.raise_signal(signal.SIGTERM)
        return blocks[-1]

    monkeypatch.setattr(RecordEncoder, "encode_sound", interrupted)
    outcome = learned(clicks_reader)
    assert (outcome.stopped, outcome.reading.rows) == (signal.SIGTERM, 100)
    assert outcome.model.encoder_.moments[:, [0, 4, 6]].sum(1).tolist() == [100.0, 100.0]


def raising(*numbers):
    """What a job is to call after each block: it sends signals."""
    return lambda traces: [signal.raise_signal(number) for number in numbers]


def test_a_second_signal_stops_at_once_but_a_terminal_that_is_closed_is_told_of_twice(clicks):
    with pytest.raises(Stopped) as stopped:
        learned(reader(clicks), on_round=raising(signal.SIGINT, signal.SIGTERM))
    assert stopped.value.number == signal.SIGTERM
    outcome = learned(reader(clicks), on_round=raising(signal.SIGHUP, signal.SIGHUP))
    assert (outcome.stopped, outcome.reading.rows) == (signal.SIGHUP, 50)


def test_a_signal_before_the_first_block_stops_at_once(clicks, monkeypatch):
    stop, clicks_reader = Stop(), reader(clicks)
    monkeypatch.setattr(clicks_reader, "_restart", lambda: signal.raise_signal(signal.SIGINT))
    with pytest.raises(Stopped), stop:
        learning.learn(clicks_reader, {"half": HALF}, alone=True, stop=stop)
    assert not stop.begun


def test_labels_that_come_late_are_learned_when_a_run_is_stopped(clicks):
    outcome = learned(reader(clicks), delay=30, on_round=at_block(2))
    assert (outcome.reading.rows, outcome.model.state_.rounds) == (100, 100)


@pytest.fixture
def interrupting(monkeypatch, small_blocks):
    """Commands get a signal when the second block is learned."""

    def send(at=2, number=signal.SIGINT):
        send_at_block = at_block(at, number)
        monkeypatch.setattr("coterie.cli.progress.ProgressTable.add", lambda self, traces: send_at_block(traces))
        monkeypatch.setattr("coterie.cli.progress.ProgressTable.finish", lambda self: None)

    return send


def test_how_to_go_on_has_the_options_that_are_needed_again(clicks, interrupting):
    Path("my clicks").write_bytes(clicks.read_bytes())
    interrupting()
    result = run(
        "learn", "my clicks", *WHO, *QUICK, "--format", "csv", "--on-error", "skip", "--delay", 3, "--skip", 20,
        "--save-every", "1h", "--output", "m.coterie", "--json", code=130,
    )  # fmt: skip
    assert result.stderr.splitlines()[-1] == (
        "coterie: stopped after 100 records; to continue: coterie learn 'my clicks' --from m.coterie --output m.coterie "
        "--skip 100 --format csv --on-error skip --delay 3 --json --save-every 1h"
    )
    outcome = json.loads(result.stdout)
    assert (outcome["stopped"], outcome["examples"], outcome["model"]) == ("SIGINT", 80, "m.coterie")


def test_a_model_that_goes_on_may_be_stopped_again(clicks, interrupting):
    interrupting(number=signal.SIGTERM)
    options = ("--task", "user", "--new-task", "grow")
    run("learn", clicks, *WHO, *QUICK, "--output", "m.coterie", code=143)
    interrupting(number=signal.SIGTERM)
    last = run("learn", clicks, "--from", "m.coterie", "--output", "m.coterie", "--skip", 100, *options, code=143)
    assert last.stderr.splitlines()[-1] == (
        "coterie: stopped after 200 records; to continue: coterie learn clicks.csv --from m.coterie --output m.coterie "
        "--skip 200 --task user --new-task grow"
    )
    run("learn", clicks, "--from", "m.coterie", "--output", "m.coterie", "--skip", 200, "-q")
    assert ct.load("m.coterie").state_.rounds == 400


def test_queries_go_on_where_a_run_was_stopped(clicks, interrupting):
    options = (*WHO, "--alone", "--learner", "SelectiveSampling(MultitaskLogistic(), Margin(c=0.2), budget=60)")
    run("learn", clicks, *options, "--output", "whole.coterie")
    interrupting()
    message = run("learn", clicks, *options, "--output", "m.coterie", code=130).stderr.splitlines()[-1]
    run(*shlex.split(message.partition("to continue: coterie ")[2]))
    assert Path("m.coterie").read_bytes() == Path("whole.coterie").read_bytes()
    other = "SelectiveSampling(model, Always(), budget=7)"
    assert run_json("learn", clicks, "--from", "m.coterie", "--learner", other)["learners"]["together"]["labels"] == 7


def test_a_model_that_is_to_refuse_new_tasks_takes_them_until_its_run_is_over(clicks, interrupting):
    interrupting()
    run("learn", clicks, *WHO, *QUICK, "--new-task", "raise", "--output", "m.coterie", code=130)
    assert ct.load("m.coterie").new_task == "grow"


def test_a_run_that_is_stopped_and_cannot_save_ends_with_the_error(clicks, interrupting, monkeypatch):
    interrupting()
    monkeypatch.setattr("coterie.MultitaskLogistic.save", full_disk)
    result = run("learn", clicks, *WHO, *QUICK, "--output", "m.coterie", code=1)
    messages = ["coterie: stopped after 100 records", "coterie: error: m.coterie: No space left on device"]
    assert result.stderr.splitlines()[-2:] == messages
    assert "over 100 examples of " in " ".join(result.stdout.split())


def test_a_stop_while_there_is_one_label_saves_what_there_is(working_folder, interrupting):
    write_csv(Path("late.csv"), [row | {"click": "yes"} for row in list(rows(400))[:200]] + list(rows(200, seed=2)))
    interrupting()
    run("learn", "late.csv", *WHO, *QUICK, "--output", "m.coterie", code=130)
    run("learn", "late.csv", "--from", "m.coterie", "--output", "m.coterie", "--skip", 100, "-q")
    assert ct.load("m.coterie").classes_.tolist() == ["no", "yes"]


def test_what_was_saved_is_told_when_the_report_is_broken_off(clicks, monkeypatch, capfd):
    command = ("learn", clicks, *WHO, "--output", "m.coterie", "--report", "r.html")
    signals = [signal.SIGINT]
    monkeypatch.setattr("coterie.evaluation.report.write_report", lambda *arguments, **named: raising(*signals)(None))
    assert "Report: r.html" in run(*command).stdout  # one, and so it is written
    signals *= 2
    last = run(*command, "--force", "--skip", 20, code=130).stderr.splitlines()[-1]
    assert last == "coterie: stopped at once; m.coterie is saved, and has learned all 380 records"
    assert ct.load("m.coterie").state_.rounds == 380
    noted = capfd.readouterr().err
    assert "all records are learned, the results are being written (once more: stopping at once)" in noted


@pytest.mark.parametrize(("trouble", "code"), [("signals", 130), ("error", 1)])
def test_a_last_save_that_fails_leaves_what_was_saved_before_it(clicks, monkeypatch, small_blocks, trouble, code):
    save = ct.MultitaskLogistic.save

    def once(self, path):
        if Path("m.coterie").exists() and Path(path) == Path("m.coterie"):
            if trouble == "error":
                raise ZeroDivisionError("oh")
            raising(signal.SIGINT, signal.SIGINT)(None)
        save(self, path)

    monkeypatch.setattr(ct.MultitaskLogistic, "save", once)
    result = run("learn", clicks, *WHO, *QUICK, "--output", "m.coterie", "--save-every", 300, code=code).stderr
    last = r"coterie: (stopped at once; )?m.coterie is as it was saved after 300 records; to continue: coterie learn"
    assert re.search(last, result)
    assert "all 300 records" not in result
    assert ct.load("m.coterie").state_.rounds == 300


# -- records that cannot be learned, after others that could


@pytest.fixture
def third(working_folder):
    """The 181st of 400 records has a third label."""
    records = list(rows(400))
    write_csv(Path("good.csv"), records)
    records[180] = records[180] | {"click": "maybe"}
    return write_csv(Path("third.csv"), records)


def test_a_bad_record_ends_a_run_as_a_stop_does(third, small_blocks):
    run("learn", "good.csv", *WHO, *QUICK, "-q", "--output", "whole.coterie")
    result = run("learn", third, *WHO, *QUICK, "--output", "m.coterie", code=2)
    message, error = result.stderr.splitlines()[-2:]
    go_on = "coterie learn third.csv --from m.coterie --output m.coterie --skip 150"
    how = ", with the record corrected or --on-error skip"
    assert message == f"coterie: stopped after 150 records; to continue{how}: {go_on}"
    assert error.startswith("coterie: error: third.csv:182: column 'click': 'maybe' is a third label, after")
    assert result.stdout == ""
    run("learn", "good.csv", "--from", "m.coterie", "--output", "m.coterie", "--skip", 150, "-q")
    assert_same("m.coterie", "whole.coterie")


def test_a_bad_record_among_the_first_saves_nothing(third):
    assert len(run("learn", third, *WHO, *QUICK, "--output", "m.coterie", code=2).stderr.splitlines()) == 1
    assert not Path("m.coterie").exists()


def test_a_bad_record_without_a_model_or_room_to_save_says_that_nothing_was_saved(third, monkeypatch, small_blocks):
    message = run("learn", third, *WHO, *QUICK, code=2).stderr.splitlines()[-2]
    assert message == "coterie: stopped after 150 records: nothing was saved, because no --output was given"
    monkeypatch.setattr("coterie.MultitaskLogistic.save", full_disk)
    *messages, last = run("learn", third, *WHO, *QUICK, "--output", "m.coterie", code=2).stderr.splitlines()[-3:]
    assert messages == ["coterie: stopped after 150 records", "coterie: error: m.coterie: No space left on device"]
    assert last.startswith("coterie: error: third.csv:182: ")


# -- models saved on the way


def test_what_is_saved_on_the_way_is_a_model_of_whole_blocks(clicks):
    locks = []

    def save(model, records):
        model.save(f"{records}.coterie")
        locks.append(records)

    learned(reader(clicks), checkpoints=Checkpoints("100", save))
    assert locks == [100, 200, 300, 400]
    for records in locks:
        assert_same(f"{records}.coterie", learned(reader(write_csv(Path("part.csv"), list(rows(400))[:records]))).model)


def test_records_whose_labels_have_not_come_are_not_counted(clicks):
    locks = []
    checkpoints = Checkpoints("1", lambda model, records: locks.append((records, model.state_.rounds)))
    learned(reader(clicks), delay=70, checkpoints=checkpoints)
    assert locks == [(records, records) for records in range(30, 340, 50)]


def test_a_disk_that_is_full_on_the_way_does_not_end_a_run(clicks, monkeypatch, small_blocks):
    failing, _ = failing_once(ct.MultitaskLogistic.save, 0)
    monkeypatch.setattr(ct.MultitaskLogistic, "save", failing)
    output = run("learn", clicks, *WHO, *QUICK, "--output", "m.coterie", "--save-every", 200).stderr
    warning = "coterie: warning: m.coterie: No space left on device: not saved after 200 records, learning continues"
    assert warning in output.splitlines()
    assert "saved m.coterie after 400 records" in output
    assert ct.load("m.coterie").state_.rounds == 400


@pytest.fixture
def now(monkeypatch):
    """The time that goes by as a test says."""
    now = [0.0]
    monkeypatch.setattr(stopping_signals.time, "monotonic", lambda: now[0])
    return now


def test_saving_that_takes_longer_than_learning_leaves_as_much_time_to_learn(now):
    took = {10: 1.5, 20: 3.0, 40: 0.2, 50: 0.0}  # by the records before; learning took 2 and .5 s before 10 and 20

    def save(model, records):
        now[0] += took[records]

    checkpoints = Checkpoints("10", save)
    for at, records, due in ((2.0, 10, True), (4.0, 20, True), (9.9, 30, False), (10.0, 40, True), (10.3, 50, True)):
        now[0] = at
        assert checkpoints.is_due(records) == due
        if due:
            checkpoints.save(None, records)


def test_seconds_are_counted_too(now):
    checkpoints = Checkpoints("2m", lambda model, records: None)
    assert not checkpoints.is_due(10)
    now[0] = 120.0
    assert checkpoints.is_due(20)
    checkpoints.save(None, 20)
    assert not checkpoints.is_due(30)
    assert (SaveInterval.from_text("1h").seconds, SaveInterval.from_text("30s").seconds) == (3600, 30)


# -- records that are left out


@pytest.fixture(scope="module")
def stories(tmp_path_factory):
    return write_rows(tmp_path_factory.mktemp("stories"), list(rows(100))).values()


@pytest.mark.parametrize(("skip", "block_rows"), [(1, 7), (60, 8192), (99, 7)])
def test_records_are_left_out_of_every_format(stories, skip, block_rows):
    for path, story in stories:
        story = story | {"scale": "none", "block_rows": block_rows, "bits": 8}
        every, left = (whole(read(path, **story, **more)) for more in ({}, {"skip": skip}))
        for one, rest in zip(every, left, strict=True):
            np.testing.assert_array_equal(one[skip:], rest)


def test_bad_records_are_not_counted_among_those_left_out(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text("user,price,click\nann,1,yes\n,2,no\nbob,x,no\nbob,3,no\ncid,4,yes\n")
    left = read(path, label="click", task="user", features={"price": "numeric"}, on_error="skip", skip=2)
    (block,) = left
    assert (block.place.tolist(), left.skipped) == ([6], 2)


# -- other commands


def test_a_prediction_that_is_stopped_leaves_no_part_of_a_file(clicks):
    run("learn", clicks, *WHO, *QUICK, "-q", "--output", "m.coterie")
    os.mkfifo("pipe.csv")
    before = set(Path().iterdir())
    command = ("predict", "m.coterie", "pipe.csv", "--output", "p.csv")
    process = start(*command, stderr=subprocess.PIPE, text=True, preexec_fn=heed)
    with Path("pipe.csv").open("wb"):
        process.send_signal(signal.SIGTERM)
        assert (process.communicate(timeout=300)[1], process.returncode) == ("coterie: interrupted\n", 143)
    assert set(Path().iterdir()) == before
