"""Several workers: the same bits as one, whatever is cut, lost or stopped."""

import copy
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

import coterie as ct
from coterie import scale
from coterie.evaluation.stream_model import stream_model_of
from coterie.hypotheses import AdaptiveGradient, CoinBetting
from coterie.inputs.errors import InputError
from coterie.jobs.ahead import Ahead
from coterie.relations.learned import TooManyTasksError
from coterie.round.linear import LinearLearner
from coterie.scale import sharded
from coterie.scale.checkpoints import Checkpoint, CheckpointError
from coterie.scale.engines import engine_of
from coterie.scale.lanes import Threads
from coterie.scale.partition import part_of, why_whole
from coterie.scale.ray_engine import RayLane, _connect
from coterie.scale.spreading import check_lanes, spread, spreading
from faults import failing_once, full_disk
from slow import slow
from states import digest
from terminal import refused, run, run_json

N, D, K = 900, 8, 30
GROUPS = {f"u{k}": k % 5 for k in range(K)}


def stream(dense=True, seed=0):
    """Records of tasks that come one after the other; the first has a third of all."""
    rng = np.random.default_rng(seed)
    task = np.minimum(np.where(rng.random(N) < 0.3, 0, rng.integers(K, size=N)), np.arange(N) // 20)
    X = rng.standard_normal((N, D)) * (rng.random((N, D)) < 0.5)
    truth = rng.standard_normal(D) + rng.standard_normal((K, D))
    y = np.einsum("ij,ij->i", X, truth[task]) + rng.logistic(size=N) > 0
    return (X if dense else sp.csr_array(X)), y, np.array([f"u{k}" for k in task])


def learned(model, records, first, last, size=150):
    """The margins that a model tells of a stretch of a stream."""
    X, y, task = records
    inner = stream_model_of(model)
    told = [
        inner.learn(X[s : min(s + size, last)], y[s : min(s + size, last)], task[s : min(s + size, last)]).margin
        for s in range(first, last, size)
    ]
    return np.concatenate(told)


def spread_over(model, workers, records, first, last):
    """The same by several workers."""
    with Threads(workers) as engine, spreading({"m": model}, engine):
        return learned(model, records, first, last)


def fitted(last=N, members="separable"):
    """A model that has learned the stream's first records."""
    X, y, task = stream()
    return adaptive(members).partial_fit(X[:last], y[:last], task=task[:last])


def adaptive(members, **held):
    return ct.AdaptiveSharingClassifier(members=members, **held)


MODELS = {
    "separable": lambda **held: adaptive("separable", **held),
    "signed": lambda **held: adaptive("signed", **held),
    "default": lambda **held: adaptive("default", **held),
    "independent": lambda **held: ct.MultitaskLogistic(ct.Independent(), **held),
    "clusters": lambda **held: ct.MultitaskLogistic(ct.Clusters(GROUPS, share=0.5), **held),
    "perceptron": lambda **held: ct.MultitaskPerceptron(ct.Independent(), average=False, **held),
    "numbers": lambda **held: ct.AdaptiveSharingRegressor(),
    "classes": lambda **held: ct.OneVsRest(adaptive("cheap", **held)),
}


@pytest.mark.parametrize("dense", [True, slow(False)])
@pytest.mark.parametrize("storage", ["auto", slow("dense"), slow("sparse")])
@pytest.mark.parametrize(
    "name",
    ["separable", "clusters", *map(slow, ("signed", "default", "independent", "perceptron", "numbers", "classes"))],
)
def test_several_workers_learn_what_one_learns(name, storage, dense):
    records = stream(dense)
    if name == "numbers":
        records = records[0], records[1] * 2.0 + np.arange(N) % 3, records[2]
    for workers in (1, 2, 7):
        one, several = MODELS[name](storage=storage), MODELS[name](storage=storage)
        expected = learned(one, records, 0, N)
        told = [spread_over(several, workers, records, 0, 300), learned(several, records, 300, 450)]
        told.append(spread_over(several, 3, records, 450, N))
        assert np.array_equal(np.concatenate(told), expected), workers
        assert digest(several) == digest(one), workers


def test_tasks_that_nobody_has_seen_are_predicted_in_parts():
    X, y, task = stream()
    for name in ("separable", "clusters"):
        model = MODELS[name]().partial_fit(X[:300], y[:300], task=task[:300])
        asked = np.array(["u29", "u0", "u28"] * 5 if name == "clusters" else ["new", "u0", "other"] * 5)
        expected = model.decision_function(X[:15], task=asked)
        with Threads(4) as engine, spreading({"m": model}, engine):
            assert np.array_equal(model.decision_function(X[:15], task=asked), expected)


def test_empty_lanes_and_one_task_and_weights_of_records():
    X, y, task = stream()
    only, weight = np.full(N, "u0"), np.arange(N) % 3
    one, several = adaptive("separable"), adaptive("separable")
    expected = learned(one, (X, y, only), 0, N)
    assert np.array_equal(spread_over(several, 5, (X, y, only), 0, N), expected)
    assert digest(several) == digest(one)
    one.partial_fit(X, y, task=task, sample_weight=weight)
    with Threads(3) as engine, spreading({"m": several}, engine):
        several.partial_fit(X, y, task=task, sample_weight=weight)
    assert np.array_equal(one.decision_function(X, task=task), several.decision_function(X, task=task))


def test_late_labels_are_learned_by_members_apart():
    X, y, task = stream()
    one, several = adaptive("separable"), adaptive("separable")
    told = ct.progressive_validation(one, X, y, task=task, delay=50).margin
    with Threads(3) as engine, spreading({"m": several}, engine, late=True):
        assert np.array_equal(ct.progressive_validation(several, X, y, task=task, delay=50).margin, told)


def test_a_part_is_the_same_on_every_machine():
    assert [part_of(task, 7) for task in ("ann", 3, 2.5, ("a", 1), True)] == [4, 2, 0, 4, 5]


# -- refusals


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (ct.MultitaskLogistic(), r"HalfUpdate\(\) lets every task learn from all others\. Adaptive.*'separable'"),
        (ct.MultitaskPerceptron(ct.MeanRegularized(b=2)), "MeanRegularized.* lets every task learn from all others"),
        (ct.MultitaskPerceptron(ct.Clusters(GROUPS, b=2)), "weighs groups by the tasks known; give a share"),
        (ct.MultitaskPerceptron(ct.TaskGraph([("a", "b")])), "may let every task learn from all others"),
        (ct.MultitaskPerceptron(ct.LogDet(eta=0.1)), "may let every task learn from all others"),
        (ct.MultitaskPerceptron(ct.Independent(), average=True), "Averaged keeps what is of all tasks"),
        (ct.geometries.MultitaskKernelPerceptron(), "learns all tasks together"),
        (adaptive("separable", max_tasks=5), "with max_tasks: which task is forgotten depends on all others"),
        (ct.views.MultiviewPerceptron(), "it is no online model of tasks"),
    ],
)
def test_what_cannot_be_divided_says_why(model, message):
    with pytest.raises(ValueError, match=message):
        check_lanes(model, 2)


def test_scales_of_all_tasks_are_no_parts():
    learner = LinearLearner(CoinBetting(), ct.Independent(), ct.rules.Logistic())
    assert "scales='row'" in why_whole(learner)
    assert why_whole(LinearLearner(AdaptiveGradient(), ct.Independent(), ct.rules.Logistic())) == ""


def test_no_workers_are_refused():
    for workers in (0, -1, 1.5, True):
        with pytest.raises(ValueError, match="workers must be a whole number"):
            engine_of(workers)


def test_nothing_is_forgotten_or_asked_for_meanwhile():
    model, asking = fitted(), ct.SelectiveSampling(adaptive("separable"))
    meanwhile = pytest.raises(ValueError, match="cannot forget tasks meanwhile")
    with Threads(2) as engine, spreading({"m": model}, engine), meanwhile:
        model.forget_task("u0")
    model.forget_task("u0")
    with Threads(2) as engine, pytest.raises(ValueError, match="no online model"), spreading({"m": asking}, engine):
        pass


def test_a_lane_that_fails_leaves_the_model_as_it_was(monkeypatch):
    def failing(words):
        def fails(*given):
            raise OSError(words)

        return fails

    def fail():
        with Threads(2) as engine, spreading({"m": model}, engine):
            # no lane does anything any more, not even give back what it has
            monkeypatch.setattr("coterie.scale.lanes.ThreadLane.start", failing("gone"))
            monkeypatch.setattr("coterie.scale.lanes.ThreadLane.state", failing("not back"))
            learned(model, stream(), 300, 450)

    model = fitted(300)
    before = digest(model)
    with pytest.raises(OSError, match="gone"):
        fail()
    monkeypatch.undo()
    assert digest(model) == before


# -- models in parts


@pytest.mark.parametrize(
    "name", ["separable", "numbers", *map(slow, ("signed", "default", "clusters", "classes", "perceptron"))]
)
def test_parts_make_the_model_again(tmp_path, name):
    X, y, task = stream()
    if name == "numbers":
        y = y * 2.0 + np.arange(N) % 3
    model = MODELS[name]().partial_fit(X[:500], y[:500], task=task[:500])
    whole, later = digest(model), digest(copy.copy(model).partial_fit(X[500:], y[500:], task=task[500:]))
    for parts in (1, 3, 50):
        scale.save(model, tmp_path / "parts", parts)
        made = scale.load(tmp_path / "parts")
        assert digest(made) == whole, parts
        with Threads(3) as engine, spreading({"m": made}, engine):
            scale.save(made, tmp_path / "parts", 3)
            made.partial_fit(X[500:], y[500:], task=task[500:])
        assert digest(made) == later, parts
        assert digest(scale.load(tmp_path / "parts")) == whole, parts
        assert len(list((tmp_path / "parts").iterdir())) == 5  # three parts, their order, the manifest


def test_a_part_is_a_model_of_its_tasks(tmp_path):
    (X, _, task), model, seen = stream(), fitted(), []
    for v, each in enumerate(scale.save(model, tmp_path / "parts", 4).parts):
        part = ct.load(tmp_path / "parts" / each.name)
        seen += part.tasks_
        assert all(part_of(known, 4) == v for known in part.tasks_)
        own = np.isin(task, part.tasks_)
        margins = model.decision_function(X[own], task=task[own])
        assert np.array_equal(part.decision_function(X[own], task=task[own]), margins)
    assert sorted(seen) == sorted(model.tasks_)


def test_parts_that_were_changed_are_refused(tmp_path):
    folder = tmp_path / "parts"
    manifest = scale.save(fitted(), folder, 2)
    path, other = (folder / each.name for each in manifest.parts)
    held = path.read_bytes()
    path.write_bytes(other.read_bytes())
    with pytest.raises(ValueError, match="is not the file that was written"):
        scale.load(folder)
    path.unlink()
    with pytest.raises(ValueError, match=r"is missing: the model in .* is not whole"):
        scale.load(folder)
    path.write_bytes(held)
    scale.load(folder)
    said = json.loads((folder / "manifest.json").read_text())
    for changed, message in (
        ({"version": 2}, "has form 2, and this version of coterie reads up to 1"),
        ({"parts": []}, "is no manifest"),
        ({"parts": said["parts"][::-1]}, "has other tasks than"),
        ({"order": {"name": "../order.npy", "digest": ""}}, "names a file that is not in its folder"),
        ({"records": -1}, "is no manifest"),
    ):
        (folder / "manifest.json").write_text(json.dumps(said | changed))
        with pytest.raises(ValueError, match=message):
            scale.load(folder)
    with pytest.raises(ValueError, match="holds no model in parts"):
        scale.load(tmp_path)


@pytest.mark.parametrize("members", ["separable", slow("default")])
def test_parts_of_many_tasks_with_hashed_features_make_the_model_again(tmp_path, members):
    """Members that know no single task keep a table of one row for them, however many tasks there are."""
    n = 150
    X = sp.csr_array((np.ones(n), (np.arange(n), np.arange(n) * 1741)), (n, 2**18))
    model = adaptive(members, scale="none").partial_fit(X, np.arange(n) % 2, task=np.arange(n))
    for parts in (1, 3):
        scale.save(model, tmp_path / "parts", parts)
        assert digest(scale.load(tmp_path / "parts")) == digest(model)


def test_numbers_in_parts_have_intervals(tmp_path):
    X, y, task = stream()
    y = X[:, 0] + np.arange(N) % 3
    model = ct.AdaptiveSharingRegressor().partial_fit(X[:600], y[:600], task=task[:600])
    scale.save(model, tmp_path / "parts", 3)
    parts = scale.ShardedModel(tmp_path / "parts")
    expected = model.predict_interval(X, task=task, level=0.8)
    assert np.array_equal(parts.predict_interval(X, task=task, level=0.8), expected)
    assert np.array_equal(parts.predict(X, task=task), model.predict(X, task=task))
    stream_model_of(model).learn(X[600:], y[600:], task[600:], late=100)
    scale.save(model, tmp_path / "parts", 3)
    assert digest(scale.load(tmp_path / "parts")) == digest(model)


def test_a_model_in_parts_predicts_what_the_whole_does(tmp_path):
    X, y, task = stream()
    for name, some, asked in (
        ("separable", np.isin(task, ["u0", "u1", "u2"]), ["new", "u0", "other", "u7", "u2"]),  # most parts have no task
        ("clusters", np.isin(task, ["u0", "u1", "u2", "u3", "u4"]), ["u9", "u0", "u11", "u28", "u2"]),
    ):
        model = MODELS[name]().partial_fit(X[some], y[some], task=task[some])
        scale.save(model, tmp_path / name, 8)
        parts, asked = scale.ShardedModel(tmp_path / name), np.array(asked * 6)
        for method in ("predict", "decision_function", "predict_proba"):
            expected = getattr(model, method)(X[:30], task=asked)
            assert np.array_equal(getattr(parts, method)(X[:30], task=asked), expected), (name, method)
        assert parts.classes_.tolist() == [False, True]
        with pytest.raises(AttributeError, match=r"has no 'partial_fit': coterie\.scale\.load makes one model"):
            parts.partial_fit(X, y, task=task)
    X, y, task = stream()
    margins = ct.MultitaskPerceptron(ct.Independent(), average=False).partial_fit(X, y, task=task)
    scale.save(margins, tmp_path / "margins", 3)
    assert not hasattr(scale.ShardedModel(tmp_path / "margins"), "predict_proba")


def test_labels_that_are_equal_are_one_task_in_parts(tmp_path):
    X, y, _ = stream()
    task = [(7, 7.0, np.int64(7), True, 1, ("a", 2), ("a", 2.0))[i % 7] for i in range(N)]
    model = adaptive("separable").partial_fit(list(map(dict, map(enumerate, X))), y, task=task)
    scale.save(model, tmp_path / "parts", 5)
    assert digest(scale.load(tmp_path / "parts")) == digest(model)
    assert part_of(7, 1000) == part_of(7.0, 1000) == part_of(np.int64(7), 1000) != part_of("7", 1000)


def test_what_a_killed_save_has_left_is_removed_and_other_folders_are_left_alone(tmp_path):
    model, folder = fitted(), tmp_path / "parts"
    scale.save(model, folder, 2)
    left = [folder / f"{dot}part-00007-0123abcd.coterie{end}" for dot, end in (("", ""), (".", ".coterie-9e8d7c6b"))]
    for each in left:
        each.write_bytes(b"")
    (folder / "notes.txt").write_text("mine")
    scale.save(model, folder, 2)
    assert not any(each.exists() for each in left)
    assert (folder / "notes.txt").read_text() == "mine"
    (tmp_path / "web").mkdir()
    (tmp_path / "web" / "manifest.json").write_text('{"name": "a site"}')
    assert not sharded.is_sharded(tmp_path / "web")


def test_a_disk_that_is_full_leaves_the_parts_that_were(tmp_path, monkeypatch):
    (X, y, task), model, folder = stream(), fitted(500), tmp_path / "parts"
    scale.save(model, folder, 2)
    before = {each.name: each.read_bytes() for each in folder.iterdir()}
    model.partial_fit(X[500:], y[500:], task=task[500:])
    for n in range(4):  # two parts, their order, the manifest
        full, _ = failing_once(sharded.replacing, max(n - 2, 0))
        with monkeypatch.context() as patched:
            patched.setattr(sharded, "replacing", full)
            with pytest.raises(OSError, match="No space left"):
                scale.save(model, folder, 2)
        assert {each.name: each.read_bytes() for each in folder.iterdir()} == before


def test_models_that_have_no_parts_say_why(tmp_path):
    X, y, task = stream()
    kinds = (
        (ct.MultitaskPerceptron(ct.relations.VonNeumann(eta=1e-6)), "VonNeumann.* is of all tasks"),
        (ct.MultitaskPerceptron(ct.MeanRegularized(b=2)), "is of all tasks"),
        (ct.MultitaskPerceptron(average=True), "keeps what is of all tasks"),
        (adaptive("separable", max_tasks=50), "order in which tasks were seen is of all"),
    )
    for model, parts, message in (
        *((model.partial_fit(X, y, task=task), 2, message) for model, message in kinds),
        (adaptive("separable"), 2, "it has learned nothing"),
        (fitted(), 0, "parts must be from 1 to 65,535"),
    ):
        with pytest.raises(ValueError, match=message):
            scale.save(model, tmp_path / "parts", parts)
    assert not (tmp_path / "parts").exists()


# -- files and commands


@pytest.fixture(scope="module")
def clicks(tmp_path_factory):
    """A file of 20,000 records in three blocks, and the model that one worker learns of it."""
    folder, rng, n = tmp_path_factory.mktemp("clicks"), np.random.default_rng(1), 20_000
    user = rng.zipf(1.4, size=n) % 300
    X = rng.standard_normal((n, 4))
    click = X[:, 0] * np.where(user % 2, 1, -1) + X[:, 1] > 0
    table = {"user": user, "click": click.astype(int)} | {f"x{j}": X[:, j] for j in range(4)}
    pq.write_table(pa.table(table), folder / "clicks.parquet")
    run("learn", folder / "clicks.parquet", *SAID, "--output", folder / "one.coterie")
    return folder


def few(path, n=9000, first=0, changed=()):
    """A file of records of nine users, some lines of which are others."""
    lines = [f"u{i % 9},{(i + first) % 5},{i % 2}" for i in range(n)]
    for place, line in dict(changed).items():
        lines[place] = line
    path.write_text("user,x,click\n" + "\n".join(lines) + "\n")
    return path


@pytest.fixture
def stopping(monkeypatch):
    """Let a run get a signal after it has saved a checkpoint of so many records, or its first; what was saved."""

    def stop(*at):
        save, saves = Checkpoint.save, []

        def saving(self, model, records):
            save(self, model, records)
            saves.append(records)
            if records in at or (not at and len(saves) == 1):
                signal.raise_signal(signal.SIGTERM)

        monkeypatch.setattr(Checkpoint, "save", saving)
        return saves

    yield stop
    monkeypatch.undo()


SAID = (
    "--task",
    "user",
    "--label",
    "click",
    "--learner",
    "AdaptiveSharingClassifier('separable')",
    "--alone",
    "--quiet",
)


def test_learn_by_workers_writes_the_same_file(clicks, tmp_path):
    model = tmp_path / "several.coterie"
    run("learn", clicks / "clicks.parquet", *SAID, "--workers", 3, "--output", model)
    assert model.read_bytes() == (clicks / "one.coterie").read_bytes()
    told = run("learn", clicks / "clicks.parquet", *SAID[:-1], "--workers", 2).stdout
    assert re.search(r"(?s)2 workers learned in 10\s+lanes: .* s of CPU, of which 'member \d.*' .* s\.", told), told
    outcome = scale.learn(str(clicks / "clicks.parquet"), adaptive("separable"), workers=2, task="user", label="click")
    one = ct.load(clicks / "one.coterie")
    assert outcome.model.tasks_ == one.tasks_
    assert np.array_equal(outcome.model.coef_, one.coef_)


def test_baselines_go_along_in_lanes(clicks, tmp_path):
    words = [word for word in SAID if word not in ("--alone", "--quiet")]
    printed = []
    for more in ((), ("--workers", 2)):
        model = tmp_path / f"m{len(more)}"
        told = run_json("learn", clicks / "clicks.parquet", *words, "--quiet", *more, "--output", model)
        printed.append({name: held for name, held in told.items() if name not in ("seconds", "model", "learners")})
    assert printed[0] == printed[1]
    assert (tmp_path / "m0").read_bytes() == (tmp_path / "m2").read_bytes()


def test_predict_and_go_on_with_a_model_in_parts(clicks, tmp_path):
    data, parts = clicks / "clicks.parquet", tmp_path / "parts"
    run("learn", data, *SAID, "--workers", 3, "--sharded", "--output", parts)
    for model, out, more in (
        *((parts, "a.csv", ()), (parts, "c.csv", ("--workers", 2))),
        *((clicks / "one.coterie", "b.csv", ()), (clicks / "one.coterie", "d.csv", ("--workers", 2))),
    ):
        run("predict", model, data, "--output", tmp_path / out, *more)
    assert len({(tmp_path / out).read_text() for out in ("a.csv", "b.csv", "c.csv", "d.csv")}) == 1
    for model, out in ((parts, "a"), (clicks / "one.coterie", "b")):
        run("learn", data, "--from", model, "--output", tmp_path / out, "--quiet")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_parts_are_read_when_their_tasks_come(clicks, tmp_path):
    scale.save(ct.load(clicks / "one.coterie"), tmp_path / "parts", 8)
    model = scale.ShardedModel(tmp_path / "parts")
    block = next(iter(ct.read([str(clicks / "clicks.parquet")], encoder=model.encoder_, update=False)))
    few = block.take(np.flatnonzero(block.tasks == block.tasks[0]))
    expected = ct.load(clicks / "one.coterie").__predict_block__(few)
    assert np.array_equal(model.__predict_block__(few).margin, expected.margin)
    assert set(model.loaded) == {0, part_of(int(block.tasks[0]), 8)}  # the first one knows the encoder
    assert len(model.__predict_block__(block.take(np.zeros(0, np.int64))).margin) == 0


def test_a_run_that_was_stopped_goes_on(clicks, tmp_path, monkeypatch, stopping):
    data, place = clicks / "clicks.parquet", tmp_path / "checkpoint"
    said = (*SAID, "--workers", 2, "--checkpoint", place, "--save-every", 8192, "--output", tmp_path / "model")
    saves = stopping()
    stopped = run("learn", data, *said, code=128 + signal.SIGTERM)
    assert "to go on: the same command with --resume" in stopped.stderr
    monkeypatch.undo()
    assert f"holds a checkpoint of {saves[-1]:,} records: resume it" in refused("learn", data, *said)
    run("learn", data, *said, "--resume")
    assert (tmp_path / "model").read_bytes() == (clicks / "one.coterie").read_bytes()


def test_files_that_are_over_are_not_read_again(tmp_path, monkeypatch, stopping):
    files, place = [few(tmp_path / f"{name}.csv", first=n) for n, name in enumerate("abc")], tmp_path / "checkpoint"
    said = (*SAID, "--workers", 2, "--checkpoint", place, "--save-every", 1, "--output")
    run("learn", *files, *SAID, "--output", tmp_path / "one")
    for more, learned in (((), 18_000), (("--resume",), 26_192)):
        stopping(18_000, 26_192)
        run("learn", *files, *said, tmp_path / "several", *more, code=128 + signal.SIGTERM)
        monkeypatch.undo()
        with Checkpoint(place, 2, map(str, files), sharded.read_manifest(place).options) as held:
            resumed = held.resumed()
        assert (resumed.records, resumed.ends) == (learned, [9000, 18_000])
    run("learn", *files, *said, tmp_path / "several", "--resume")
    assert (tmp_path / "several").read_bytes() == (tmp_path / "one").read_bytes()


def test_files_that_later_ones_depend_on_are_read_again(tmp_path):
    a, b, place = tmp_path / "a.csv", tmp_path / "b.csv", tmp_path / "checkpoint"
    for first, each in ((9000, a), (0, b)):  # the second begins before the first ends
        each.write_text("user,x,t,click\n" + "\n".join(f"u{i % 9},{i % 5},{first + i},{i % 2}" for i in range(9000)))
    said = (*SAID, "--time", "t", "--checkpoint", place, "--save-every", 1, "--resume")
    for _ in range(2):
        assert "b.csv:2: column 't'" in refused("learn", a, b, *said)
    assert [each.end for each in sharded.read_manifest(place).sources] == [None, None]
    for name in "cd":
        (tmp_path / f"{name}.svm").write_text("\n".join(f"{i % 2} qid:{i % 9} 1:{i % 5}" for i in range(10)))
    reader = ct.read([str(tmp_path / "c.svm"), str(tmp_path / "d.svm")])
    assert (sum(len(block) for block in reader), reader.ends) == (20, [])
    reader = ct.read([str(b), str(b)], task="user", label="click")
    assert (sum(len(block) for block in reader), reader.ends) == (18_000, [9000, 18_000])
    rest = ct.read([str(b), str(b)], encoder=reader.encoder, skip=10_000, ends=[9000])
    assert (sum(len(block) for block in rest), rest.passed, rest.bytes_read) == (8000, 10_000, rest.bytes_total)
    with pytest.raises(ValueError, match="ends has a file of 9000 records, and skip is 10"):
        ct.read(str(b), skip=10, ends=[9000])


@pytest.mark.parametrize("last", [None, "", "u1,3,\nu2,4,\n"])
def test_a_run_that_ended_before_it_wrote_its_model_writes_it(tmp_path, last):
    """Also where the last file has no record to learn; the end of the only one is where a checkpoint is saved."""
    files, said = [few(tmp_path / "few.csv", 16_384)], (*SAID, "--checkpoint", tmp_path / "checkpoint", "--save-every")
    if last is not None:
        files.append(tmp_path / "last.csv")
        files[1].write_text("user,x,click\n" + last)
    run("learn", *files, *said, 8192, "--new-task", "raise", "--output", tmp_path / "one")
    told = run("learn", *files, *said, 8192, "--new-task", "raise", "--resume", "--output", tmp_path / "again")
    assert told.stderr == ""
    assert (tmp_path / "one").read_bytes() == (tmp_path / "again").read_bytes()
    assert ct.load(tmp_path / "again").new_task == "raise"


def test_a_run_over_names_of_features_goes_on_with_them(tmp_path, monkeypatch, stopping):
    data, place = tmp_path / "texts.vw", tmp_path / "checkpoint"
    data.write_text("\n".join(f"{i % 2 or -1} |u u{i % 9} |w w{i % 7} v{i}" for i in range(20_000)))
    said = ("--task", "u", "--learner", "AdaptiveSharingClassifier('separable')", "--alone", "--quiet")
    run("learn", data, *said, "--output", tmp_path / "one")
    said = (*said, "--checkpoint", place, "--save-every", 1, "--output", tmp_path / "several")
    stopping()
    run("learn", data, *said, code=128 + signal.SIGTERM)
    monkeypatch.undo()
    assert 0 < sharded.read_manifest(place).records < 20_000
    run("learn", data, *said, "--resume")
    assert (tmp_path / "several").read_bytes() == (tmp_path / "one").read_bytes()


def test_a_bad_record_can_be_left_out_where_a_run_goes_on(tmp_path):
    data, model = few(tmp_path / "bad.csv", 20_000, changed={18_000: "u1,much,1"}), tmp_path / "model"
    said = (*SAID, "--checkpoint", tmp_path / "checkpoint", "--save-every", 1)
    told = run("learn", data, *said, "--output", model, code=2).stderr
    assert "to go on: the same command with --resume and --on-error skip" in told
    run("learn", data, *said, "--output", model, "--resume", "--on-error", "skip")
    run("learn", data, *SAID, "--output", tmp_path / "one", "--on-error", "skip")
    assert model.read_bytes() == (tmp_path / "one").read_bytes()


def test_folders_are_what_they_are_named_for(clicks, tmp_path):
    data, place, parts = clicks / "clicks.parquet", tmp_path / "checkpoint", tmp_path / "parts"
    run("learn", data, *SAID, "--checkpoint", place, "--save-every", 8192, "--sharded", "--output", parts)
    assert "holds a checkpoint: name another folder" in refused("learn", data, *SAID, "--sharded", "--output", place)
    for more in ((), ("--resume",)):
        told = refused("learn", data, *SAID, "--checkpoint", parts, *more)
        assert "holds a model in parts, and no checkpoint" in told
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "monday.csv").write_text("")
    told = refused("learn", data, *SAID, "--checkpoint", tmp_path / "logs")
    assert "holds something else than a checkpoint" in told
    assert [each.name for each in (tmp_path / "logs").iterdir()] == ["monday.csv"]
    told = refused("learn", data, *SAID[:-2], "--checkpoint", place, "--resume", "--report", tmp_path / "report.html")
    assert "--report is of a whole run" in told


def test_a_checkpoint_is_of_its_files_and_options(clicks, tmp_path):
    data, place = tmp_path / "clicks.parquet", tmp_path / "checkpoint"
    data.write_bytes((clicks / "clicks.parquet").read_bytes())
    said = (*SAID, "--workers", 2, "--checkpoint", place, "--save-every", 8192)
    run("learn", data, *said)
    for more, message in (
        (
            ("--learner", "MultitaskLogistic()"),
            "--learner was [\"AdaptiveSharingClassifier('separable')\"] when learning began",
        ),
        (("--ignore", "x1"), "--ignore was None when learning began"),
    ):
        assert message in refused("learn", data, *said, "--resume", *more)
    other = tmp_path / "other.parquet"
    other.write_bytes(data.read_bytes())
    assert "clicks.parquet, and these are" in refused("learn", other, *said, "--resume")
    os.utime(data, ns=(1, 1))
    assert "has changed since it was learned from" in refused("learn", data, *said, "--resume")
    data.unlink()
    assert "does not exist" in refused("learn", data, *said, "--resume")
    data, groups = few(tmp_path / "few.csv"), tmp_path / "groups.csv"  # which is one of the files
    groups.write_text("task,group\n" + "\n".join(f"u{i},{i % 2}" for i in range(9)))
    said = (
        "--task",
        "user",
        "--label",
        "click",
        "--learner",
        f"MultitaskLogistic(Clusters.read('{groups}'))",
        "--quiet",
    )
    said = (*said, "--alone", "--checkpoint", tmp_path / "c", "--save-every", 4096)
    run("learn", data, *said)
    os.utime(groups, ns=(1, 1))
    assert "groups.csv has changed since it was learned from" in refused("learn", data, *said, "--resume")


def test_a_folder_is_of_one_run_at_a_time(clicks, tmp_path):
    data, place = clicks / "clicks.parquet", tmp_path / "checkpoint"
    said = (*SAID, "--checkpoint", place, "--save-every", 8192)
    run("learn", data, *said, "--sharded", "--output", tmp_path / "parts")
    with Checkpoint(place, 2, [str(data)]) as held:
        held.begin(resume=True)
        assert "another run has" in refused("learn", data, *said, "--resume")
        assert "another process has" in refused("forget", place, "--task", "3")
        with pytest.raises(CheckpointError, match="let it end, or name another folder"):
            scale.learn(str(data), adaptive("separable"), checkpoint=place, resume=True, task="user", label="click")
    run("learn", data, *said, "--resume")
    outcome = scale.learn(str(data), adaptive("separable"), checkpoint=tmp_path / "c", task="user", label="click")
    assert outcome.model.tasks_ == ct.load(clicks / "one.coterie").tasks_
    with pytest.raises(CheckpointError, match="holds a checkpoint of"):
        scale.learn(str(data), adaptive("separable"), checkpoint=place, task="user", label="click")


def test_a_model_in_parts_forgets_tasks(clicks, tmp_path):
    data, parts = clicks / "clicks.parquet", tmp_path / "parts"
    run("learn", data, *SAID, "--workers", 3, "--sharded", "--output", parts)
    before = sharded.read_manifest(parts)
    assert "task 'nobody' was never seen" in refused("forget", parts, "--task", "1", "--task", "nobody")
    assert sharded.read_manifest(parts) == before
    told = run("forget", parts, "--task", "1", "--task", "2").stdout
    assert "Forgotten: 1, 2" in told
    run("forget", clicks / "one.coterie", "--task", "1", "--task", "2", "--output", tmp_path / "fewer")
    assert digest(scale.load(parts)) == digest(ct.load(tmp_path / "fewer"))
    after = sharded.read_manifest(parts)
    assert (len(after.parts), after.records, after.sources) == (3, before.records, before.sources)
    run("forget", parts, "--task", "3", "--output", tmp_path / "one file")
    assert 3 not in ct.load(tmp_path / "one file").tasks_
    assert 3 in scale.load(parts).tasks_


def test_options_that_do_not_go_together(clicks, tmp_path):
    data = clicks / "clicks.parquet"
    for words, message in (
        (("--resume",), "name its folder with --checkpoint"),
        (("--sharded",), "give --output"),
        (("--checkpoint", tmp_path / "c", "--delay", 5), "--delay does not go with --checkpoint"),
        (("--checkpoint", tmp_path / "c", "--skip", 5), "--skip does not go with --checkpoint"),
        (("--workers", 0), "workers must be"),
        (
            ("--workers", 2, "--learner", "MultitaskLogistic(MeanRegularized(share=0.5))"),
            "lets every task learn from all others",
        ),
        (("--workers", 2, "--learner", "AdaptiveSharingClassifier('separable', max_tasks=9)"), "with max_tasks"),
        (("--sharded", "--output", clicks / "one.coterie"), "is a file: with --sharded name a folder"),
        (("--sharded", "--output", clicks), "holds something else than a model in parts"),
        (("--sharded", "--output", tmp_path / "no" / "where"), "there is no folder"),
        (("--checkpoint", clicks / "one.coterie"), "is a file: name a folder"),
        (("--checkpoint", tmp_path / "c", "--sharded", "--output", tmp_path / "c"), "name the same folder"),
        (
            ("--checkpoint", tmp_path / "c", "--learner", "MultitaskKernelPerceptron(LinearKernel())"),
            "cannot be written in parts",
        ),
        (
            ("--sharded", "--output", tmp_path / "d", "--learner", "MultitaskKernelPerceptron(LinearKernel())"),
            "cannot be written in parts",
        ),
    ):
        options = [*SAID[:4], *SAID[6:]] if "--learner" in words else SAID
        assert message in refused("learn", data, *options, *words)
    place = tmp_path / "no" / "where"
    assert "No such file or directory" in refused("learn", data, *SAID, "--checkpoint", place)
    with pytest.raises(CheckpointError, match="comes from a pipe cannot be read again"):
        Checkpoint(tmp_path / "c", 2, ["-"])
    with pytest.raises(InputError, match="No such file"):
        Checkpoint(tmp_path / "c", 2, ["nowhere.csv"])


def test_a_checkpoint_on_a_full_disk_is_no_end(clicks, tmp_path, monkeypatch):
    monkeypatch.setattr(Checkpoint, "save", full_disk)
    said = (*SAID, "--checkpoint", tmp_path / "c", "--save-every", 8192, "--output", tmp_path / "model")
    told = run("learn", clicks / "clicks.parquet", *said).stderr
    assert "not saved after 8,192 records, learning goes on" in told
    assert (tmp_path / "model").read_bytes() == (clicks / "one.coterie").read_bytes()


def test_a_bad_record_is_named_although_blocks_are_read_ahead(tmp_path):
    files = few(tmp_path / "a.csv"), few(tmp_path / "b.csv", 11_000, changed={9000: "u1,3,2"})
    for more in ((), ("--workers", 2)):
        told = refused("learn", *files, *SAID, "--output", tmp_path / "model", *more)
        assert "b.csv:9002: column 'click'" in told, told
        assert "third label" in told


@pytest.mark.slow
def test_a_killed_run_goes_on_to_the_same_model(clicks, tmp_path):
    rng = np.random.default_rng(0)
    said = [*map(str, SAID), "--workers", "2", "--checkpoint", str(tmp_path / "c"), "--save-every", "8192"]
    command = [sys.executable, "-m", "coterie", "learn", str(clicks / "clicks.parquet"), *said, "--resume"]
    for _ in range(6):
        with subprocess.Popen([*command, "--output", str(tmp_path / "model")], stderr=subprocess.PIPE) as process:
            process.stderr.readline()  # the first checkpoint
            time.sleep(rng.uniform(0, 0.3))
            process.kill()
        if (tmp_path / "model").exists():
            break
    subprocess.run([*command, "--output", str(tmp_path / "last")], check=True, capture_output=True)
    assert (tmp_path / "last").read_bytes() == (clicks / "one.coterie").read_bytes()


# -- the plan


def test_blocks_read_ahead_end_once(clicks):
    blocks = Ahead(ct.read([str(clicks / "clicks.parquet")], task="user", label="click"))
    assert sum(map(len, blocks)) == 20_000
    assert next(blocks, None) is None
    blocks.close()


def test_a_plan_names_the_lanes():
    made = scale.plan(adaptive("default"), workers=2)
    parts = [f"member 0, part {v}" for v in (1, 2, 3, 4)]
    assert [lane.name for lane in made.lanes] == [*parts, "member 1", "member 2", "member 3"]
    assert "HalfUpdate() lets every task learn from all others" in str(made)
    assert (made.slowest, made.speedup) == (None, None)
    with pytest.raises(ValueError, match="several workers would do no more than one"):
        scale.plan(ct.MultitaskLogistic(), workers=2)


def test_a_plan_tells_memory(clicks, monkeypatch):
    monkeypatch.setattr("coterie.scale.planning.MOST_SAMPLED", 8000)
    made = scale.plan(adaptive("separable"), str(clicks / "clicks.parquet"), workers=3, task="user", label="click")
    assert made.records == 20_000
    assert made.sampled < 8000
    model = adaptive("separable")
    with Threads(3) as engine, spreading({"m": model}, engine):
        for block in ct.read([str(clicks / "clicks.parquet")], task="user", label="click"):
            stream_model_of(model).learn(block)
        held = {lane.name: lane.state().nbytes for lane in engine.lanes}
    planned = sum(lane.bytes for lane in made.lanes)
    assert planned == pytest.approx(sum(held.values()), rel=0.2)
    assert {lane.name for lane in made.lanes} == set(held)
    assert 1.0 <= made.speedup <= 3.0
    assert made.slowest.name in str(made)


# -- Ray


@pytest.fixture(scope="module")
def ray():
    """An engine on Ray with two workers."""
    if importlib.util.find_spec("ray") is None:
        pytest.skip("Ray is not installed: pip install 'coterie[scale]'")
    with engine_of(2, "local") as engine:
        yield engine


def test_workers_on_ray_that_are_lost_are_begun_anew(ray, monkeypatch):
    monkeypatch.setattr("coterie.scale.ray_engine.MOST_CALLS", 3)
    records = stream()
    one, several = adaptive("separable"), adaptive("separable")
    expected = learned(one, records, 0, N)
    with spreading({"m": several}, ray):
        told = [learned(several, records, 0, 450)]
        ray.ray.kill(ray.actors[0])
        told.append(learned(several, records, 450, 600))
        for actor in ray.actors:
            ray.ray.kill(actor)
        told.append(learned(several, records, 600, N))
    assert np.array_equal(np.concatenate(told), expected)
    assert digest(several) == digest(one)
    assert ray.lost >= 3


def test_a_worker_that_is_lost_while_its_lane_is_saved_does_nothing_twice(ray, monkeypatch):
    monkeypatch.setattr("coterie.scale.ray_engine.MOST_CALLS", 2)
    once, lost = RayLane._once, []

    def losing(lane, actor, method, given):
        if method == "saved" and len(lost) < 2:
            lost.append(lane.name)
            ray.ray.kill(actor)
        if method == "learn" and len(lost) == 2:  # as where Ray ends what takes too much memory
            lost.append(lane.name)
            raise ray.ray.exceptions.OutOfMemoryError("1 worker was killed")
        return once(lane, actor, method, given)

    monkeypatch.setattr(RayLane, "_once", losing)
    records, one, several = stream(), MODELS["independent"](), MODELS["independent"]()
    expected = learned(one, records, 0, N)
    with spreading({"m": several}, ray):
        assert np.array_equal(learned(several, records, 0, N), expected)
    assert len(lost) == 3
    assert digest(several) == digest(one)


def test_a_cluster_that_does_not_answer_is_told_at_once():
    with pytest.raises(ConnectionError, match=r"nothing answers at 127\.0\.0\.1:1"):
        _connect(None, 2, "127.0.0.1:1")


def test_what_a_learner_refuses_on_ray_is_as_it_is(ray):
    X, y, task = stream()
    model = MODELS["clusters"]()
    with spreading({"m": model}, ray), pytest.raises(ValueError, match="task 'nobody' has no group in Clusters"):
        model.partial_fit(X, y, task=np.where(np.arange(N) == 5, "nobody", task))


def test_too_many_tasks_for_a_learned_relation_are_told_from_another_process():
    error = TooManyTasksError(ct.relations.VonNeumann(eta=1e-6), 5000)
    again = copy.copy(error)  # which goes the way of pickling
    assert (type(again), str(again), again.most) == (TooManyTasksError, str(error), error.most)


def test_without_ray_an_address_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'coterie\[scale\]'"):
        engine_of(2, "local")


def test_a_learner_is_spread_by_its_members():
    with Threads(3) as engine:
        made = spread(adaptive("separable").__stream_model__().learner, engine)
        assert [each.parts for each in made.learners] == [6, 1, 6, 1]
        late = spread(adaptive("separable").__stream_model__().learner, engine, late=True)
        assert [each.parts for each in late.learners] == [1, 1, 1, 1]
