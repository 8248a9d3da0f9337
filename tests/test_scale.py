"""Shards: one is a process, several are processes over their tasks, and whatever dies, the bits are the same."""

import csv
import io
import json
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import time
import types
from datetime import date, datetime
from decimal import Decimal
from functools import cache

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import coterie as ct
from coterie import distributed
from coterie.cli.failures import report_error
from coterie.distributed import driver, ray_actors
from coterie.distributed.shard import Shard
from coterie.evaluation.stopping_signals import Stop, Stopped
from faults import failing_once
from slow import slow
from terminal import WHO, refused, rows, run, run_json

N = 900
ADAPTIVE = "AdaptiveSharingClassifier('cheap')"


def learn_here(run, shards, every, address, on_progress):
    """Let the shards of a run learn in this process, one after the other."""
    for shard in range(shards):
        error = Shard(str(run), shard, every).learn()
        if error is not None:
            raise error


@pytest.fixture(autouse=True)
def _quick_disk(monkeypatch):
    """Wait for no disk: these tests kill processes, and not the machine."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)


@pytest.fixture
def here(monkeypatch):
    monkeypatch.setattr(driver, "learn_on_ray", learn_here)


def drawn():
    """Records with missing numbers and with line breaks inside of quotes, labels of several kinds."""
    for i, row in enumerate(rows(N, n_tasks=30)):
        row["price"] = None if i % 97 == 5 else row["price"]
        row["shop"] = f"{row['shop']}\nside" if i % 11 == 0 else row["shop"]
        row["amount"] = round(row["age"] * 2 + int(row["user"][1:]) % 3, 3)
        yield row | {"kind": ("red", "blue", "green")[int(row["user"][1:]) % 3] if i % 4 else "red", "weight": i % 3}


records = cache(lambda: [*drawn()])


def write(path, data=None):
    """Write records in the format of a file's ending."""
    table = pd.DataFrame(records() if data is None else data)
    if path.suffix == ".csv":
        table.to_csv(path, index=False)
    elif path.suffix == ".jsonl":
        table.to_json(path, orient="records", lines=True)
        rows_written = [json.loads(line) for line in path.read_text().splitlines()]
        for row in rows_written[::13]:
            del row["age"]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows_written))
    elif path.suffix == ".parquet":
        table["shop"] = table["shop"].astype("category")
        table["user"] = table["user"].str[1:].astype(int)
        table.to_parquet(path, row_group_size=200)
    elif path.suffix == ".arrow":
        table.to_feather(path)
    else:
        signs = np.where(table["click"] == "yes", 1, -1)
        users, ages = table["user"].str[1:], table["age"]
        lines = zip(signs, users, ages, table["title"], strict=True)
        with path.open("w") as file:
            for sign, user, age, title in lines:
                vw = f"{sign} |u u{user} |f age:{age} {title}\n"
                file.write(vw if path.suffix == ".vw" else f"{sign} qid:{user} 1:{age} 3:1\n")
    return path


NAMED = {".vw": ("--task", "u"), ".svm": ()}
COLUMNS = ("--task", "user", "--label", "click", "--ignore", "amount", "--ignore", "kind")
LEARNERS = {
    "adaptive": (ADAPTIVE,),
    "pa1": ("MultitaskPerceptron(rule=PassiveAggressive(), average=True)",),
    "weights": ("MultitaskLogistic()", "--weight", "weight"),
    "numbers": ("AdaptiveSharingRegressor()", "--regression", "--label", "amount", "--ignore", "click"),
    "classes": (f"OneVsRest({ADAPTIVE})", "--many-classes", "--label", "kind", "--ignore", "click"),
}
SEVERAL = [("adaptive", "csv"), ("weights", "csv"), *(slow("adaptive", e) for e in ("jsonl", "parquet", "vw", "svm"))]
SEVERAL += [slow("numbers", "parquet"), slow("classes", "csv"), slow("pa1", "vw")]


def command(path, learner):
    """The options of a file of records and of a learner."""
    spec, *more = LEARNERS[learner]
    columns = ("--task", "user") if "--label" in more else NAMED.get(path.suffix, COLUMNS)
    return [str(path), *columns, "--alone", "--bits", "8", "--learner", spec, *more]


@pytest.mark.parametrize(("learner", "ending"), SEVERAL)
def test_one_shard_is_one_process_to_the_last_bit(learner, ending, tmp_path):
    arguments = command(write(tmp_path / f"records.{ending}"), learner)
    run("learn", *arguments, "--output", tmp_path / "one.coterie")
    for start in ("300", "10000"):
        folder = tmp_path / start
        run("learn", *arguments, "--workers", "1", "--common-start", start, "--save-every", "200", "--output", folder)
        (shard,) = folder.glob("shard-*.coterie")
        assert shard.read_bytes() == (tmp_path / "one.coterie").read_bytes()
        assert {path.name for path in folder.iterdir()} == {shard.name, "manifest.json", "lock"}


def shards_of(folder):
    """The model files of a folder, in order."""
    return [folder / shard.file for shard in distributed.folder.read_manifest(folder).shards]


def test_a_shard_is_one_process_over_its_tasks_behind_the_common_start(here, tmp_path):
    data, rest = records(), tmp_path / "rest.csv"
    arguments = command(write(tmp_path / "all.csv", data), "adaptive")
    run("learn", *arguments, "--workers", "3", "--common-start", "300", "--output", tmp_path / "shards")
    run("learn", *command(write(tmp_path / "start.csv", data[:300]), "adaptive"), "-o", tmp_path / "start.coterie")
    for shard, path in enumerate(shards_of(tmp_path / "shards")):
        write(rest, [row for row in data[300:] if distributed.shard_of(row["user"], 3) == shard])
        one = tmp_path / f"one{shard}.coterie"
        run("learn", rest, "--from", tmp_path / "start.coterie", "--output", one)
        assert path.read_bytes() == one.read_bytes()


@pytest.mark.parametrize("ending", ["csv", slow("vw"), slow("parquet")])
def test_predictions_are_those_of_each_task_s_shard_in_the_order_of_the_records(here, ending, tmp_path):
    path = write(tmp_path / f"records.{ending}")
    run("learn", *command(path, "adaptive"), "--workers", "3", "--common-start", "100", "--output", tmp_path / "m")
    predictions = list(csv.DictReader(io.StringIO(run("predict", tmp_path / "m", path).stdout)))
    printed = [run("predict", shard, path).stdout for shard in shards_of(tmp_path / "m")]
    rows_of_shards = [list(csv.DictReader(io.StringIO(text))) for text in printed]
    assert [row["place"] for row in predictions] == [row["place"] for row in rows_of_shards[0]]
    assert predictions == [rows_of_shards[distributed.shard_of(row["task"], 3)][i] for i, row in enumerate(predictions)]
    assert len({row["margin"] for row in predictions}) > N // 2


def test_a_folder_predicts_in_python(here, tmp_path):
    path = write(tmp_path / "records.csv")
    run("learn", *command(path, "adaptive"), "--workers", "2", "--output", tmp_path / "m", "--common-start", "100")
    model, frame = distributed.load(tmp_path / "m"), pd.read_csv(path)
    X = frame.drop(columns=["user", "click", "amount", "kind"])
    predictions = model.predict_proba(X, task=frame["user"])
    for shard in range(2):
        mine = np.array([distributed.shard_of(user, 2) == shard for user in frame["user"]])
        expected = model.shard(shard).predict_proba(X[mine], task=frame["user"][mine])
        np.testing.assert_array_equal(predictions[mine], expected)
    with pytest.raises(AttributeError, match=r"use one of its shards"):
        model.partial_fit(X, frame["click"])


def test_a_class_that_few_shards_know_has_its_own_column_in_all(here, tmp_path):
    """Behind a start with a and b, shard 0 learns c and d, shard 1 learns e, and shard 2 learns no other."""
    kinds = {0: "abcd", 1: "abe", 2: "ab"}
    shards = [distributed.shard_of(f"u{i % 12}", 3) for i in range(240)]
    labels = ["ab"[i % 2] if i < 120 else kinds[shard][i // 12 % len(kinds[shard])] for i, shard in enumerate(shards)]
    frame = pd.DataFrame({"user": [f"u{i % 12}" for i in range(240)], "x": np.sin(np.arange(240.0)), "kind": labels})
    frame.to_csv(tmp_path / "data.csv", index=False)
    options = {"task": "user", "label": "kind", "common_start": 100, "alone": True, "workers": 3}
    learner = ct.OneVsRest(ct.MultitaskLogistic())
    distributed.learn(str(tmp_path / "data.csv"), learner, output=tmp_path / "m", **options)
    model, X, user = distributed.load(tmp_path / "m"), frame[["x"]], frame["user"]
    assert model.classes_.tolist() == list("abcde")
    probabilities, margins = model.predict_proba(X, task=user), model.decision_function(X, task=user)
    for shard, mine in ((shard, np.array(shards) == shard) for shard in range(3)):
        part, known = model.shard(shard), np.isin(model.classes_, model.shard(shard).classes_)
        np.testing.assert_array_equal(probabilities[mine][:, known], part.predict_proba(X[mine], task=user[mine]))
        assert not probabilities[mine][:, ~known].any()
        assert np.isneginf(margins[mine][:, ~known]).all()
        expected = part.decision_function(X[mine], task=user[mine])
        np.testing.assert_array_equal(
            np.diff(margins[mine][:, :2])[:, 0] if shard == 2 else margins[mine][:, known], expected
        )
    printed = csv.DictReader(
        io.StringIO(run("predict", tmp_path / "m", tmp_path / "data.csv", "--probabilities").stdout)
    )
    read = [[float(row[f"probability_{label}"]) for label in "abcde"] for row in printed]
    np.testing.assert_allclose(read, probabilities, rtol=1e-12)


TASKS_OF_TYPES = {
    "times": pa.array([datetime(2026, 1, 1, k) for k in range(20)], pa.timestamp("ns")),
    "days": pa.array([date(2026, 1, 1 + k) for k in range(20)]),
    "decimals": pa.array([Decimal(k) / 10 for k in range(20)], pa.decimal128(9, 3)),
    "bytes": pa.array([b"%d" % k for k in range(20)]),
    "numbers": pa.array(np.arange(20.0)),
    "truth values": pa.array([True, False] * 10),
}


@pytest.mark.parametrize("name", TASKS_OF_TYPES)
def test_tasks_of_each_type_and_in_each_container_reach_their_shard(here, name, tmp_path):
    tasks = pa.concat_arrays([TASKS_OF_TYPES[name]] * 6)
    X = pd.DataFrame({"x": np.linspace(-1.0, 1.0, 120)})
    y = (X["x"] * np.arange(1.0, 121.0) % 2.0 > 0.7).astype(int)
    pq.write_table(pa.table({"task": tasks, "x": X["x"], "y": y}), tmp_path / "data.parquet")
    options = {"task": "task", "label": "y", "common_start": 40, "alone": True}
    distributed.learn(
        str(tmp_path / "data.parquet"), ct.MultitaskLogistic(), workers=3, output=tmp_path / "m", **options
    )
    model, listed = distributed.load(tmp_path / "m"), tasks.to_pylist()
    known = {task: distributed.shard_of(task, 3) for task in listed}
    expected = [
        model.shard(known[task]).decision_function(X[k : k + 1], task=[task])[0] for k, task in enumerate(listed)
    ]
    arrays = [tasks, pa.chunked_array([tasks]), tasks.to_numpy(zero_copy_only=False), tasks.to_pandas()]
    for container in (listed, *arrays, pd.Categorical(tasks.to_pandas())):
        np.testing.assert_array_equal(model.decision_function(X, task=container), expected)


def test_sums_of_shards_are_those_of_all_records(here, tmp_path):
    path, learner = write(tmp_path / "records.csv"), ct.AdaptiveSharingClassifier()
    options = {"task": "user", "label": "click", "ignore": ["amount", "kind"], "bits": 8, "common_start": 100}
    outcome = distributed.learn(str(path), learner, workers=3, output=tmp_path / "m", **options)
    assert outcome.baselines == ["independent", "pooled", "intercepts", "mixed model", "running rate"]
    assert outcome.sums.of_task("u3")["examples"] == sum(row["user"] == "u3" for row in records())
    assert outcome.sums.base_rate == ("yes", pytest.approx(np.mean([row["click"] == "yes" for row in records()])))
    assert outcome.verdict().against == "one model per task"
    # one model per task does not care about other tasks but for the scales of numbers
    reader = ct.read(str(path), task="user", label="click", ignore=["amount", "kind"], bits=8)
    whole = ct.progressive_validation(ct.AdaptiveSharingClassifier().__baselines__()["independent"], reader)
    assert outcome.sums.errors["independent"] == pytest.approx(whole.error, abs=0.05)


# -- what dies goes on


RUNNING = {"task": "user", "label": "click", "ignore": ["amount", "kind"], "bits": 8, "alone": True}
RUNNING["common_start"] = 100


def learn_two(path, folder):
    """Learn in two shards that are saved every 150 records, and write down the sums beside their folder."""
    learner = ct.AdaptiveSharingClassifier()
    outcome = distributed.learn(str(path), learner, workers=2, output=folder, save_every="150", **RUNNING)
    called, arrays = outcome.sums.to_saved()
    lists = {name: array.tolist() for name, array in arrays.items()}
    data = [called, outcome.sums.tasks, outcome.sums.base_rate, lists]
    (folder.parent / f"{folder.name}.json").write_text(json.dumps(data))


def learn_until_fsync(path, folder, k):
    """Learn in two shards, and die in the k-th wait for the disk."""
    driver.learn_on_ray, count = learn_here, iter(range(1, k))

    def dying(handle):
        if next(count, None) is None:
            os._exit(9)

    os.fsync = dying
    learn_two(path, folder)
    os._exit(0)


def is_killed(path, folder, k=10_000):
    """Return True if a process that learns died in the k-th wait for the disk."""
    child = multiprocessing.get_context("fork").Process(target=learn_until_fsync, args=(path, folder, k))
    child.start()
    child.join()
    assert child.exitcode in (0, 9)
    return child.exitcode == 9


def outcome_of(folder):
    return [path.read_bytes() for path in shards_of(folder)], (folder.parent / f"{folder.name}.json").read_text()


@pytest.fixture(scope="module")
def unkilled(tmp_path_factory):
    """A file of records, and the outcome of a run that nothing interrupts."""
    folder = tmp_path_factory.mktemp("unkilled")
    path = write(folder / "records.csv")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(driver, "learn_on_ray", learn_here)
        learn_two(path, folder / "m")
    return path, outcome_of(folder / "m")


@pytest.mark.parametrize("k", [16, 30, *map(slow, range(1, 45, 2))])
def test_a_run_that_dies_anywhere_goes_on_to_the_same_bits(k, unkilled, tmp_path):
    """In the common start, the split, the save of a shard, between these, and when the manifest is written."""
    path, outcome = unkilled
    if is_killed(path, tmp_path / "m", k):
        assert not is_killed(path, tmp_path / "m")
    assert outcome_of(tmp_path / "m") == outcome


@pytest.mark.parametrize(("call", "k"), [("unlink", 0), ("rename", 2), ("unlink", 3), ("rmdir", 1), ("unlink", 6)])
def test_a_run_that_dies_while_it_is_removed_goes_on_too(call, k, unkilled, here, tmp_path, monkeypatch):
    path, outcome = unkilled

    def dying(run):
        with monkeypatch.context() as patch:
            patch.setattr(os, call, failing_once(getattr(os, call), k)[0])
            remove(run)

    remove = driver._remove_run
    monkeypatch.setattr(driver, "_remove_run", dying)
    with pytest.raises(OSError, match="No space left"):
        learn_two(path, tmp_path / "m")
    monkeypatch.setattr(driver, "_remove_run", remove)
    assert (tmp_path / "m" / "manifest.json").exists()
    learn_two(path, tmp_path / "m")
    assert outcome_of(tmp_path / "m") == outcome
    assert not (tmp_path / "m" / "run").exists()


def test_a_run_that_dies_again_and_again_ends(unkilled, tmp_path):
    path, outcome = unkilled
    deaths = 0
    while is_killed(path, tmp_path / "m", 15):
        deaths += 1
        assert deaths < 40
    assert deaths > 1
    assert outcome_of(tmp_path / "m") == outcome


ON_RAY = """
import sys, coterie as ct
path, folder, workers = sys.argv[1:]
options = {"task": "user", "label": "click", "ignore": ["amount", "kind"], "common_start": 100, "alone": True}
learner = ct.AdaptiveSharingClassifier()
ct.distributed.learn(path, learner, workers=int(workers), output=folder, save_every="8000", **options)
"""


def learn_on_ray(path, folder):
    program = [sys.executable, "-c", ON_RAY, str(path), str(folder), "2"]
    return subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def saves_in(folder):
    """The saves of shards in a run; none if it has ended."""
    return {path.name for path in folder.glob("run/shard-*")}


def kill_while_it_saves(driver_process, folder, kills):
    """Kill actors that learn, each time one more save has come; return the number killed."""
    import psutil

    killed, before = 0, set()
    while killed < kills and driver_process.poll() is None:
        time.sleep(0.01)
        if not saves_in(folder) - before:
            continue
        for child in psutil.Process(driver_process.pid).children(recursive=True):
            try:
                if re.match(r"ray::Shard(?!.__init__)", child.cmdline()[0]):
                    child.kill()
                    killed, before = killed + 1, before | saves_in(folder)
                    break
            except (psutil.Error, IndexError):
                continue
    return killed


@pytest.mark.slow
def test_actors_and_drivers_that_are_killed_on_ray_go_on_to_the_same_bits(here, tmp_path):
    pytest.importorskip("ray")
    path, folder = write(tmp_path / "records.csv"), tmp_path / "m"
    header, _, lines = path.read_text().partition("\n")
    path.write_text("\n".join([header, lines * 200]))
    reading = RUNNING | {"bits": 18}  # so that learning takes long enough to be killed
    distributed.learn(str(path), ct.AdaptiveSharingClassifier(), workers=2, output=tmp_path / "whole", **reading)
    with learn_on_ray(path, folder) as driving:
        assert kill_while_it_saves(driving, folder, 2) == 2
        driving.kill()
    assert saves_in(folder)
    with learn_on_ray(path, folder) as driving:
        assert kill_while_it_saves(driving, folder, 6) == 6
        text, _ = driving.communicate(timeout=300)
    assert driving.returncode == 0
    assert "Ray listens on all networks" in text
    assert "needs a token" in text
    one, other = ([path.read_bytes() for path in shards_of(place)] for place in (folder, tmp_path / "whole"))
    assert one == other


# -- forgetting


def test_a_task_is_forgotten_in_every_shard(here, tmp_path):
    path = write(tmp_path / "records.csv")
    run("learn", *command(path, "adaptive"), "--workers", "2", "--output", tmp_path / "m", "--common-start", "200")
    before = {path: path.read_bytes() for path in shards_of(tmp_path / "m")}
    result = run_json("forget", tmp_path / "m", "--task", "u3")
    assert result["forgotten"] == ["u3"]
    assert result["tasks"] == 29
    assert not any("u3" in ct.load(file).tasks_ for file in shards_of(tmp_path / "m"))
    for path, content in before.items():  # as a process leaves it that was killed behind the manifest
        path.write_bytes(content)
    assert "'u3' was never seen" in refused("forget", tmp_path / "m", "--task", "u3")
    assert len(list((tmp_path / "m").glob("*.coterie"))) == 2


# -- what is refused


def test_bad_records_are_named_by_their_place_in_the_files(here, tmp_path):
    data = [*map(dict, records())]
    data[700]["click"] = "maybe"
    arguments = (*command(write(tmp_path / "records.csv", data[:500]), "adaptive"), tmp_path / "more.csv")
    write(tmp_path / "more.csv", data[500:])
    error = refused("learn", *arguments, "--workers", "2", "--output", tmp_path / "m", "--common-start", "100")
    lines = sum(1 + ("\n" in row["shop"]) for row in data[500:700]) + 2
    assert f"more.csv:{lines}: column 'click': 'maybe' is a third label" in error


REFUSED = {
    "no output": (("--workers", "2"), "--workers writes a folder of models; name it with --output"),
    "report": (("--workers", "2", "--report", "r.html", "-o", "{m}"), "--report is not supported with --workers"),
    "late": (("--workers", "2", "--delay", "3", "-o", "{m}"), "--delay is not supported with --workers"),
    "address": (("--address", "auto"), "--address is not supported without --workers"),
    "a file": (("--workers", "2", "-o", "{csv}"), "is a file; several workers write a folder"),
    "another folder": (("--workers", "2", "-o", "{full}"), "contains other files"),
    "no folder": (("--workers", "2", "-o", "{m}/deep/er"), "there is no folder"),
}


@pytest.mark.parametrize(("more", "sentence"), REFUSED.values(), ids=REFUSED)
def test_refusals_of_options(here, more, sentence, tmp_path):
    path = write(tmp_path / "records.csv")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").write_text("mine")
    places = {"m": tmp_path / "m", "csv": path, "full": tmp_path / "full"}
    assert sentence in refused("learn", path, *WHO, *(word.format(**places) for word in more))
    assert not (tmp_path / "m").exists()


LATER = "901,u1,0.5,0.5,north,red,yes,1,red,1\n"
CHANGES = {"touched": os.utime, "longer": lambda path: path.write_text(path.read_text() + LATER)}


def test_a_run_that_has_not_ended_is_of_the_same_files_and_options(here, tmp_path):
    path, folder = write(tmp_path / "records.csv"), tmp_path / "m"
    assert is_killed(path, folder, 30)
    learner = ct.AdaptiveSharingClassifier()
    wrong = {"workers=2; got 3": {"workers": 3}, "label='click'; got 'shop'": {"workers": 2, "label": "shop"}}
    for sentence, changed in wrong.items():
        with pytest.raises(ValueError, match=sentence):
            distributed.learn(str(path), learner, output=folder, **RUNNING | changed)
    CHANGES["longer"](path)
    with pytest.raises(ValueError, match=r"has changed since the run in .* began"):
        distributed.learn(str(path), learner, workers=2, output=folder, **RUNNING)
    with pytest.raises(ValueError, match="contains an unfinished run; repeat its command"):
        distributed.load(folder)


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_file_that_changes_behind_the_common_start_is_refused(here, change, tmp_path, monkeypatch):
    path, start = write(tmp_path / "records.csv"), driver._common_start
    monkeypatch.setattr(driver, "_common_start", lambda *more: (start(*more), change(path))[0])
    with pytest.raises(ValueError, match=r"has changed since the run in .* began"):
        distributed.learn(str(path), ct.AdaptiveSharingClassifier(), output=tmp_path / "m", **RUNNING | {"workers": 1})


def test_a_model_in_shards_is_served_shard_by_shard_and_keeps_its_folder(here, tmp_path):
    path = write(tmp_path / "records.csv")
    arguments = (*command(path, "adaptive"), "--workers", "2", "--output", tmp_path / "m", "--common-start", "100")
    run("learn", *arguments)
    sentence = "to serve it, run one service for each file, behind a router that sends each task"
    assert sentence in refused("serve", tmp_path / "m", "--data", tmp_path / "state")
    assert sentence in refused("learn", path, "--from", tmp_path / "m")
    assert "contains a sharded model; name a new folder" in refused("learn", *arguments)
    shard = shards_of(tmp_path / "m")[1]
    shard.write_bytes(shard.read_bytes() + b" ")
    assert "does not match its checksum in the manifest" in refused("predict", tmp_path / "m", path)


@pytest.mark.filterwarnings("ignore:Ray listens")
@pytest.mark.parametrize("early", [False, True])
def test_a_signal_while_ray_learns_or_starts_ends_a_command_as_interrupted(early, capsys):
    def init(**options):
        signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(number))  # as Ray does
        if early:
            signal.raise_signal(signal.SIGTERM)

    ray = types.SimpleNamespace(is_initialized=lambda: False, init=init, shutdown=lambda: None)
    with Stop(), pytest.raises(Stopped) as stopped, ray_actors._connected(ray, 2, None):
        signal.raise_signal(signal.SIGTERM)
    assert report_error(stopped.value) == 143
    assert capsys.readouterr().err == "coterie: interrupted\n"


def end_as_ray_does(*arguments):
    """A call of Ray that a signal interrupts: it raises an exception of its own in place of the handler's."""
    try:
        signal.raise_signal(signal.SIGTERM)
    except Stopped:
        raise KeyboardInterrupt from None


@pytest.mark.parametrize("learn", [lambda *arguments: signal.raise_signal(signal.SIGTERM), end_as_ray_does])
def test_a_signal_stops_a_run_that_the_same_command_ends(learn, tmp_path, monkeypatch):
    path, folder = write(tmp_path / "records.csv"), tmp_path / "m"
    command_line = (*command(path, "adaptive"), "--workers", "2", "--output", folder, "--common-start", "100")
    monkeypatch.setattr(driver, "learn_on_ray", learn)
    assert "the same command continues" in run("learn", *command_line, code=143).stderr
    monkeypatch.setattr(driver, "learn_on_ray", learn_here)
    run("learn", *command_line)
    assert len(shards_of(folder)) == 2
