"""The service: what it acknowledged is there after a crash, to the last bit, and nothing of a bad request is."""

import asyncio
import errno
import gzip
import json
import os
import re
import socket
import subprocess
import threading
import time
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
from starlette.testclient import TestClient as AnyClient

import coterie as ct
import terminal
from coterie.evaluation.stream_model import stream_model_of
from coterie.persistence import VERSION
from coterie.server import service as services
from coterie.server.app import make_app
from coterie.server.engine import Engine
from coterie.server.events import (
    Event,
    JournalRecord,
    Observed,
    Record,
    decode_frame,
    encode_events,
    encode_frame,
    encode_records,
)
from coterie.server.journal import HEAD, MARK, DamageError, Journal, write_flushed
from coterie.server.live_comparison import Limits, LiveComparison
from coterie.server.service import Service
from coterie.server.service_errors import ClosedError, RefusedError, UnknownError
from faults import failing_once, full_disk
from slow import slow
from states import digest, reloaded


class TestClient(AnyClient):
    """A client that checks on each answer that clients are told to ask again where that helps."""

    __test__ = False

    def __init__(self, app, **arguments):
        super().__init__(app, **({"base_url": "http://localhost"} | arguments))

    def request(self, method, url, **arguments):
        answer = super().request(method, url, **arguments)
        assert ("retry-after" in answer.headers) == (answer.status_code in (429, 503))
        return answer


def make():
    return Engine(ct.MultitaskLogistic(), remember=1000)


def record(rng, name=None, label=True):
    x = {f"w{rng.integers(30)}": rng.random() for _ in range(4)}
    return Record(id=name, task=f"u{rng.integers(5)}", x=x, y=bool(rng.random() < 0.5) if label else None)


def rebuilt(folder, begin=make):
    """The engine that the whole journal makes, without snapshots."""
    engine, at = begin(), 0
    for path in sorted(Path(folder).glob("journal-*")):
        data = path.read_bytes()[len(MARK) :]
        while data:
            length, _, offset = HEAD.unpack_from(data)
            assert offset == at
            at += HEAD.size + length
            engine.apply_frame(decode_frame(data[HEAD.size : HEAD.size + length]), at)
            data = data[HEAD.size + length :]
    return engine


# -- the journal -------------------------------------------------------------------------------------------------------


def write_journal(folder, segment, payloads):
    with closing(Journal(folder, segment=segment).begin()) as journal:
        for payload in payloads:
            journal.append(payload)
        journal.flush()


@pytest.fixture
def written(tmp_path):
    """A journal of three files and its payloads."""
    payloads = [bytes([65 + k]) * (5 + k) for k in range(6)]
    write_journal(tmp_path, 40, payloads)
    assert len(list(tmp_path.glob("journal-*"))) > 2
    return tmp_path, payloads


def reopened(folder):
    with closing(Journal(folder, segment=40).begin()) as journal:
        return [frame.payload for frame in journal.read(journal.first)]


def test_what_was_written_is_read(written):
    folder, payloads = written
    assert reopened(folder) == payloads
    journal = Journal(folder, segment=40).begin()
    ends = [frame.end for frame in journal.read(0)]
    assert [[frame.payload for frame in journal.read(end)] for end in ends] == [payloads[k + 1 :] for k in range(6)]
    with pytest.raises(ValueError, match=f"the journal holds offsets 0 to {journal.end}, not {journal.end + 1}"):
        journal.read(journal.end + 1)
    oldest, following, *_ = sorted(int(path.name.rpartition("-")[2]) for path in folder.glob("journal-*"))
    journal.drop_before(following - 1)
    assert journal.first == oldest
    journal.drop_before(following)  # its first frame is the first that is wanted
    assert journal.first == following
    journal.drop_before(ends[3])
    assert 0 < journal.first <= ends[3]
    journal.close()


def test_a_last_frame_that_was_cut_anywhere_is_cut_off(written):
    folder, payloads = written
    last = max(folder.glob("journal-*"))
    whole = last.read_bytes()
    frames = [payload for payload in payloads if payload in whole]
    for end in range(len(whole)):
        last.write_bytes(whole[:end])
        with pytest.raises(DamageError, match="bytes of acknowledged frames are missing or damaged"):
            reopened(folder)
        assert last.read_bytes() == whole[:end]
        write_flushed(folder, int(last.name[8:]))  # as if the frames of this file had not been flushed
        restored = reopened(folder)
        assert restored == payloads[: len(restored)]
        assert len(restored) >= len(payloads) - len(frames)
        with closing(Journal(folder, segment=40).begin()) as journal:
            assert journal.append(b"more") > 0
        assert reopened(folder) == [*restored, b"more"]
        for path in folder.iterdir():
            if path > last and path.name != "flushed":
                path.unlink()
        write_flushed(folder, sum(len(payload) + HEAD.size for payload in payloads))
    last.write_bytes(whole)
    assert reopened(folder) == payloads
    sorted(folder.glob("journal-*"))[1].unlink()
    with pytest.raises(ValueError, match="ends at offset"):
        reopened(folder)


def test_records_that_were_checked_are_not_encoded_again():
    rng = np.random.default_rng(0)
    events = [Event("observed", 1.5, [record(rng, f"{k}") for _ in range(3)]) for k in range(4)]
    events.append(Event("predicted", 2.0, [record(rng, label=False)]))
    assert encode_events(events, [encode_records(event) for event in events]) == encode_frame(events)
    with pytest.raises(ValueError, match=r"^records\[1\] has a whole number of more than 64 bits"):
        encode_records(Event("observed", 0.0, [record(rng), Record(x={"a": 2**70}, y=True)]))


def test_a_frame_is_read_whatever_the_limits_of_requests_are():
    rewarded = Event("rewarded", 1.0, [JournalRecord(201 * "i", reward=1.0), JournalRecord("", reward=0.0)])
    (event,) = decode_frame(encode_frame([rewarded]))
    assert list(event.records) == rewarded.records


# -- the engine --------------------------------------------------------------------------------------------------------


def test_a_frame_of_which_one_request_is_refused_learns_the_others():
    engine = make()
    huge = Record(task="u", x={"p": 1e300}, y=True)
    good = Event("observed", 0.0, [Record(id="a", task="u", x={"p": 1.0}, y=True)])
    bad = Event("observed", 0.0, [Record(id="b", task="u", x={"p": 1.0}, y=False), huge])
    after = Event("observed", 0.0, [Record(id="b", task="u", x={"p": 2.0}, y=False)])
    first, second, third = engine.apply([good, bad, after])
    assert isinstance(second, RefusedError)
    assert "1e+300" in str(second)
    assert (first, third) == (Observed(1, 0, []), Observed(1, 0, []))
    assert list(engine.learned) == ["a", "b"]
    same = make()
    same.apply([good, after])
    np.testing.assert_array_equal(engine.model.coef_, same.model.coef_)


def test_what_is_forgotten_ends_a_block():
    ann, bob = (Record(id=f"{k}", task=k, x={"a": 1.0}, y=True) for k in ("ann", "bob"))
    waits = Record(id="w", task="ann", x={"a": 2.0})
    one, separate = make(), make()
    events = [
        Event("observed", 1.0, [ann]),
        Event("predicted", 1.0, [waits]),
        Event("forgotten", 1.0, [Record(task="ann")]),
        Event("observed", 1.0, [bob]),
        Event("forgotten", 1.0, [Record(task="nobody")]),
        Event("observed", 1.0, [Record(id="again", task="ann", x={"a": 1.0}, y=False)]),
    ]
    predictions = one.apply(events)
    assert [type(outcome) for outcome in predictions] == [Observed] * 4 + [UnknownError, Observed]
    assert str(predictions[4]) == "task 'nobody' is unknown"
    assert one.waiting == {}
    assert "ann" in one.tasks
    for event in events:
        separate.apply([event])
    assert digest(one) == digest(separate)  # and so nothing was learned twice


def test_records_expire_and_ids_are_forgotten_in_their_order():
    engine = Engine(ct.MultitaskLogistic(), remember=3, expire=10.0)
    for k in range(5):
        engine.apply([Event("predicted", 4.0 * k, [Record(id=f"e{k}", task="u", x={"p": 1.0})])])
    assert list(engine.waiting) == ["e2", "e3", "e4"]
    labelled = [Record(id=f"o{k}", task="u", x={"p": 1.0}, y=k % 2 == 0) for k in range(5)]
    engine.apply([Event("observed", 16.0, labelled)])
    assert list(engine.learned) == ["o2", "o3", "o4"]
    engine.apply([Event("observed", 17.5, labelled[:1])])
    assert list(engine.waiting) == ["e2", "e3", "e4"]
    engine.apply([Event("observed", 18.0, labelled[:1])])  # the first of them has waited for ten seconds
    assert list(engine.waiting) == ["e3", "e4"]


def test_an_engine_of_which_a_part_is_impossible_is_refused(tmp_path):
    with pytest.raises(ValueError, match="remember must be a whole number, at least 1, got 0"):
        Engine(ct.MultitaskLogistic(), remember=0)
    with pytest.raises(ValueError, match="expire must be a number of seconds above 0, got nan"):
        Engine(ct.MultitaskLogistic(), expire=float("nan"))
    for change in (lambda e: setattr(e, "offset", -1), lambda e: e.features.seen.update(price=[1, 1])):
        engine = make()
        change(engine)
        engine.save(tmp_path / "bad.coterie")
        with pytest.raises(ValueError, match="is not a model that this version can read"):
            ct.load(tmp_path / "bad.coterie")


# -- whether learning together helps -----------------------------------------------------------------------------------


def labelled(n, seed=0, numbers=False):
    """Records of tasks that have a direction in common and turn it each a little."""
    rng = np.random.default_rng(seed)
    X, task = rng.normal(size=(n, 3)), rng.integers(12, size=n)
    margin = X @ [1.0, 2.0, 0.0] + X[:, 2] * (task % 3 - 1)
    y = margin + rng.normal(size=n) if numbers else margin > 0.2
    xs = [{f"x{j}": value for j, value in enumerate(row)} for row in X.tolist()]
    return [Record(task=f"u{i}", x=x, y=label) for i, x, label in zip(task.tolist(), xs, y.tolist(), strict=True)]


def frames(records, seed=0):
    """The records in events of a few, some tenths of a second apart."""
    rng, first, at = np.random.default_rng(seed), 0, 1e9
    while first < len(records):
        size, at = int(rng.integers(1, 50)), at + 0.3
        yield Event("observed", at, records[first : first + size])
        first += size


@pytest.mark.parametrize("numbers", [False, slow(True)], ids=["labels", "numbers"])
def test_the_verdict_by_sums_is_that_of_a_comparison(numbers, tmp_path):
    records = labelled(600, numbers=numbers)
    kind = ct.MultitaskRegressor if numbers else ct.MultitaskLogistic
    engine, resume = Engine(kind()), Engine(kind())
    for k, event in enumerate(frames(records)):
        engine.apply([event])
        resume.apply([event])
        if k == 5:  # records wait to be compared then
            resume = reloaded(resume, tmp_path / "m")
            dumped = resume.__dump__()[0], repr(resume.__dump__()[0])
    assert digest(engine) == digest(resume)
    assert repr(dumped[0]) == dumped[1]  # what a snapshot writes while learning goes on
    engine.live.catch_up(engine.at)
    xs, ys, tasks = zip(*((r.x, r.y, r.task) for r in records), strict=True)
    whole = ct.compare({"together": kind()}, list(xs), list(ys), task=list(tasks))
    for against in ("independent", "pooled", "best"):
        verdict_by_sums, literal = engine.live.verdict(against), whole.verdict("together", against)
        assert verdict_by_sums.tasks == literal.tasks
        for name in ("n", "error", "error_against", "gain", "low", "high"):
            np.testing.assert_allclose(getattr(verdict_by_sums, name), getattr(literal, name), rtol=1e-7, atol=1e-12)
        assert (verdict_by_sums.outcome == literal.outcome).all()
        for name in ("average", "overall", "constant", "constant_error"):
            assert getattr(verdict_by_sums, name) == pytest.approx(getattr(literal, name), rel=1e-7, abs=1e-12)
        assert [size[:3] for size in verdict_by_sums.sizes] == [size[:3] for size in literal.sizes]
        assert [s[3:] for s in verdict_by_sums.sizes] == [pytest.approx(s[3:], rel=1e-7) for s in literal.sizes]
        assert verdict_by_sums.base_rate == pytest.approx(literal.base_rate, nan_ok=True)
        named = replace(literal, name=verdict_by_sums.name, against=verdict_by_sums.against)
        assert verdict_by_sums.sentence() == named.sentence()
    assert engine.live.sums.errors == pytest.approx({name: trace.error for name, trace in whole.traces.items()})
    curve = engine.live.report()["curve"][engine.live.words.key]
    assert curve["pooled"][-1] == pytest.approx(whole.traces["pooled"].error)


TOLD = {
    "default": ct.AdaptiveSharingClassifier,
    "numbers": ct.AdaptiveSharingRegressor,
    "averaged": lambda: ct.MultitaskPerceptron(average=True),
    "this many tasks": lambda: ct.MultitaskLogistic(max_tasks=6),
    "weighed labels": lambda: ct.MultitaskLogistic(class_weight="balanced"),
    "many classes": ct.OneVsRest,
    "asking": lambda: ct.SelectiveSampling(ct.MultitaskPerceptron()),
}


@pytest.mark.parametrize("kind", [slow(kind) if kind in ("weighed labels", "asking") else kind for kind in TOLD])
def test_a_record_by_itself_is_told_and_learned_as_a_block_of_it(kind):
    one, blocks = TOLD[kind](), TOLD[kind]()
    single, stream = stream_model_of(one), stream_model_of(blocks)
    for k, labelled_record in enumerate(labelled(150, numbers=kind == "numbers")):
        x = labelled_record.x | ({f"late{k}": 1.0} if k % 40 == 0 else {"shop": "a"} if k % 7 == 0 else {})
        predictions = single.predict_and_learn_one(x, labelled_record.y, labelled_record.task)
        block = stream.learn(stream.as_block([x], [labelled_record.y], [labelled_record.task])).margin
        np.testing.assert_array_equal(predictions, block, strict=True)
    assert digest(one) == digest(blocks)


@pytest.mark.parametrize("make", [ct.AdaptiveSharingClassifier, ct.MultitaskPerceptron, ct.OneVsRest], ids=str)
def test_what_is_compared_changes_nothing_of_the_model(make):
    compared, alone = Engine(make()), Engine(make(), compared=False)
    for event in frames(labelled(200)):
        compared.apply([event])
        alone.apply([event])
    assert digest(compared.model) == digest(alone.model)
    asked = labelled(40, seed=5)
    one_by_one = [compared.predict([question])[0] for question in asked]
    assert one_by_one == compared.predict(asked)
    known = [compared.model.predict_one(question.x, question.task) for question in asked]
    assert [predictions.label for predictions in one_by_one] == known


def test_baselines_that_refuse_what_the_model_takes_leave_the_comparison_and_do_not_begin_anew(tmp_path):
    """A record waits with a text; then the same feature is learned as a number, and the label comes."""
    engine, learned = Engine(ct.AdaptiveSharingClassifier()), labelled(20)
    late = [Record(id="q", task="u1", x={"b": "red"}), Record(task="u1", x={"b": 2.0}, y=True), Record(id="q", y=False)]
    engine.apply([Event("observed", 1.0, learned), Event("predicted", 2.0, late[:1])])
    for at in range(3, 12):
        for record in late[1:] if at == 3 else [Record(task="u1", x={f"new {at}": 1.0}, y=at % 2 == 0)]:
            assert engine.apply([Event("observed", 2.0 * at, [record])])[0].learned == 1
        report = engine.report()
        assert {len(values) for values in report["curve"]["error_rate"].values()} == {len(report["curve"]["n"])}
        engine = reloaded(engine, tmp_path / "engine")
    assert not engine.live.references
    assert report["examples"] == 30
    assert report["best_baseline"] == "running rate"


def test_baselines_that_read_for_each_other_learn_what_each_would_by_itself(monkeypatch, tmp_path):
    """The features grow, some records are refused, and a state is loaded in between."""
    rng = np.random.default_rng(0)
    records = [record(rng) for _ in range(1500)]
    for k, labelled_record in enumerate(records):
        labelled_record.x |= {f"later {k // 100}": 1.0, "colour": "red"} | ({"w1": "text"} if k % 70 == 69 else {})

    def learned(file):
        engine = Engine(ct.AdaptiveSharingClassifier())
        for k, event in enumerate(frames(records)):
            engine.apply([event])
            if k == 20:
                engine = reloaded(engine, file)
        return engine

    shared = learned(tmp_path / "shared.coterie")
    inputs = {id(stream_model_of(model).input) for model in shared.live.references.values()}
    assert len(shared.live.references) == 4
    assert len(inputs) == 1
    monkeypatch.setattr("coterie.server.live_comparison.share_form", lambda model, other: False)
    separate = learned(tmp_path / "apart.coterie")
    assert len({id(stream_model_of(model).input) for model in separate.live.references.values()}) == 4
    assert digest(shared) == digest(separate)


def test_no_prediction_waits_for_baselines(monkeypatch, tmp_path):
    learning, predictions = threading.Event(), threading.Event()
    with Service(tmp_path, make) as service:
        service.observe(labelled(20))
        client = TestClient(make_app(service))
        monkeypatch.setattr(LiveComparison, "catch_up", lambda self, at: (learning.set(), predictions.wait(60)))
        asked = service.submit("observed", labelled(300))
        assert learning.wait(60)
        answer = client.post("/predict", content=json.dumps({"records": [{"task": "u1", "x": {"x0": 1.0}}]}))
        assert answer.status_code == 200
        assert not asked.done()
        predictions.set()
        assert asked.result().learned == 300


def test_a_forgotten_task_is_in_no_verdict():
    engine = make()
    for event in frames(labelled(200)):
        engine.apply([event])
    engine.apply([Event("forgotten", engine.at, [Record(task="u3"), Record(task="u5")])])
    remaining = [f"u{i}" for i in range(12) if i not in (3, 5)]
    assert sorted(engine.live.verdict().tasks) == sorted(remaining)
    assert "u3" not in engine.live.references["pooled"].tasks_
    assert engine.live.sums.of_task("u3") == {}
    assert engine.live.n == 200
    engine.apply([Event("forgotten", engine.at, [Record(task=task) for task in remaining])])
    predictions = engine.live.report()
    assert (predictions["sentence"], predictions["verdict"]) == ("All tasks whose labels came are forgotten.", None)
    engine.apply([Event("observed", engine.at + 9, [Record(task="u3", x={"x0": 1.0}, y=True)])])
    assert engine.live.sums.of_task("u3")["examples"] == 1


def test_alarms_say_what_is_wrong():
    engine, records, limits = make(), labelled(2500), Limits(error=0.3, silence=600.0)
    for event in frames(records[:1500]):
        engine.apply([event])
    assert engine.alarms(limits, engine.at + 60) == {}
    turned = [Record(task=labelled_record.task, x=labelled_record.x, y=True) for labelled_record in records[1500:]]
    for event in frames(turned, 1):
        event.at += 1e6
        engine.apply([event])
    engine.live.catch_up(engine.at)
    assert list(engine.alarms(limits, engine.at + 60)) == []
    engine.apply([Event("predicted", engine.at + 700, [Record(id="a", task="u1", x={"x0": 1.0})])])
    assert engine.alarms(limits, engine.at)["silence"] == "No label has come for 12 minutes."
    assert engine.alarms(Limits(error=0.0), engine.at)["error"].startswith("The error of the last 1,000 records is")


@pytest.mark.parametrize(
    "kind",
    [ct.MultitaskLogistic, slow(lambda: ct.SelectiveSampling(ct.MultitaskPerceptron(), ask=ct.updates.Always()))],
)
def test_records_without_a_task_are_of_one(kind):
    engine = Engine(kind())
    for k, values in enumerate(([1.0], [1.0], [1.0, -1.0], [1.0, -1.0])):
        predictions = engine.apply([Event("observed", k, [Record(x={"a": a}, y=a > 0) for a in values])])
        assert predictions == [Observed(learned=len(values), duplicate=0, unknown=[], offset=0)]
    asked = [Record(x={"a": 1.0}), Record(task="ann", x={})]
    assert [prediction.known_task for prediction in engine.predict(asked)] == [True, False]
    if engine.live is not None:
        assert engine.live.sums.of_task(0)["examples"] == 6
    assert engine.apply([Event("observed", 4, [Record(task="ann", x={"a": 1.0}, y=True)])])[0].learned == 1
    refused = engine.apply([Event("observed", 5, [Record(x={"a": 1.0}, y=True)])])[0]
    assert str(refused).startswith("records[0].task: task is missing")


# -- a folder ----------------------------------------------------------------------------------------------------------


def test_what_the_model_refused_is_refused_again_after_a_crash(tmp_path):
    """What the model refuses is in the journal: whether it does can depend on what the same frame has before it."""
    bad = [
        [Record(id="huge", task="u1", x={"w1": 1e300}, y=True)],
        [Record(task="u1", x={"new": 1.0}, y=True), Record(task="u1", x={"w1": {"deep": 1.0}}, y=True)],
        [Record(id="third", task="u1", x={"w1": 1.0}, y="maybe")],
    ]
    rng, refused = np.random.default_rng(11), []
    service = Service(tmp_path, make)
    for k in range(12):
        requests = [record(rng, f"a{k}")], bad[k % 3], [record(rng, f"b{k}")]
        asked = [service.submit("observed", request) for request in requests]
        outcomes = [future.exception() or future.result() for future in asked]
        assert [type(outcome) for outcome in outcomes] == [Observed, RefusedError, Observed]
        refused.append(str(outcomes[1]))
        if k == 5:
            service.snapshot()
    with pytest.raises(ValueError, match="task 'nobody' is unknown"):
        service.forget(["nobody"])
    assert len(set(refused)) == 3
    state = digest(service.engine)
    service._lock.close()  # as if the process were gone
    with Service(tmp_path, make) as again:
        assert again.replayed > 0
        assert digest(again.engine) == state
        assert not {"huge", "third"} & set(again.engine.learned)
    assert digest(rebuilt(tmp_path)) == state


def test_a_snapshot_of_a_newer_version_is_refused(tmp_path, monkeypatch):
    with Service(tmp_path, make) as service:
        service.observe(labelled(3))
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    newest = service.snapshots()[-1]
    monkeypatch.setattr("coterie.persistence.VERSION", VERSION - 1)
    message = f"{newest} has format {VERSION}, but this version of coterie reads only up to {VERSION - 1}"
    with pytest.raises(ValueError, match=re.escape(message)):
        Service(tmp_path, make)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_folder_has_one_writer(tmp_path):
    with Service(tmp_path, make), pytest.raises(ValueError, match="another process has"):
        Service(tmp_path, make)


@pytest.mark.parametrize("error", [errno.ENOSPC, pytest.param(errno.EIO, marks=pytest.mark.slow)])
@pytest.mark.parametrize("call", ["write", "half a write", "fdatasync", "fsync", "replace"])
def test_no_fault_of_the_disk_loses_what_was_acknowledged(tmp_path, monkeypatch, call, error):
    monkeypatch.setattr("coterie.server.service.KEPT", 100)  # the whole journal
    name = "write" if call == "half a write" else call
    real, rng, calls_made = getattr(os, name), np.random.default_rng(5), set()
    with Service(tmp_path / "compiled", make) as service:  # compiling writes files of its own, which are not to fail
        for attempt in range(20):
            service.observe([record(rng, f"{attempt}")])
        service.snapshot()
    for k in range(12):  # the k-th call fails, and from then on the disk is well again
        folder, acknowledged = tmp_path / str(k), []
        failing, calls = failing_once(real, k, error, half=call == "half a write")
        service = Service(folder, make, segment=1500)
        monkeypatch.setattr(os, name, failing)
        try:
            for attempt in range(20):
                service.observe([record(rng, f"{attempt}")])
                acknowledged.append(f"{attempt}")
                if attempt % 8 == 7:
                    with suppress(OSError):
                        service.snapshot()
        except ClosedError:
            calls_made.add("ended")
        calls_made |= set(service.alarms())
        monkeypatch.setattr(os, name, real)
        ended = service.failure is not None
        service.close()
        state = digest(service.engine)
        with Service(folder, make, segment=1500) as again:
            assert set(acknowledged) <= set(again.engine.learned)
            assert digest(again.engine) == (digest(rebuilt(folder)) if ended else state)
            again.observe([record(rng, "after")])
        if next(calls) <= k:  # none of the calls failed
            break
    wanted = {"write": {"ended"}, "fdatasync": {"ended"}, "fsync": {"ended", "snapshot"}, "replace": {"snapshot"}}
    assert calls_made == wanted[name]


def test_a_clock_that_is_set_anew_expires_nothing(tmp_path, monkeypatch):
    with Service(tmp_path, make) as service:
        service.predict([Record(id="e", task="ann", x={"a": 1.0})])
        monkeypatch.setattr(time, "time", lambda: 4e9)
        service.predict([Record(id="f", task="ann", x={"a": 1.0})])
        assert service.observe([Record(id="e", y=True)]).learned == 1
        assert abs(service.engine.at - service.clock()) < 60


def test_files_that_are_not_ours_are_left_alone(tmp_path):
    others = [tmp_path / name for name in ("journal-notes.txt", "snapshot-old.coterie")]
    for path in others:
        path.write_text("of last year")
    for _ in range(2):
        with Service(tmp_path, make) as service:
            service.observe([record(np.random.default_rng(1))])
            service.snapshot()
    assert [path.read_text() for path in others] == ["of last year"] * 2


# -- requests while the disk is slow -----------------------------------------------------------------------------------


@pytest.fixture
def blocked_service(tmp_path, monkeypatch):
    """A service of which three records may wait, that has learned a frame, and writes no other until it is let go."""
    written, go_on, real = threading.Event(), threading.Event(), os.fdatasync

    def slow(handle):
        written.set()
        go_on.wait(60)
        real(handle)

    with Service(tmp_path, make, waiting=3) as service:
        service.observe(labelled(1))
        monkeypatch.setattr(os, "fdatasync", slow)
        asked = [service.submit("observed", labelled(1))]
        written.wait(60)
        try:
            yield service, asked, go_on
        finally:
            go_on.set()


# -- HTTP --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def client(tmp_path):
    with Service(tmp_path, lambda: Engine(ct.AdaptiveSharingClassifier())) as service:
        yield TestClient(make_app(service, max_body=4000, max_records=20))


def post(client, path, *records):
    return client.post(path, json={"records": list(records)})


def test_before_the_first_label_there_is_no_verdict(client):
    result = client.get("/verdict").json()
    assert (result["sentence"], result["verdict"], result["examples"]) == ("No label has come yet.", None, 0)
    assert result["curve"] == {"n": [], "error_rate": {}}


def test_predict_observe_and_the_rest(client):
    x = {"page": "shoes", "price": 2.0}
    predictions = post(client, "/predict", {"id": "e", "task": "ann", "x": x}).json()
    assert predictions["predictions"] == [{"id": "e", "task": "ann", "label": None, "p": None, "known_task": False}]
    assert post(client, "/observe", {"id": "e", "y": "bought"}).json()["learned"] == 1
    more = {"task": 7, "x": {"page": "hats"}, "y": "left"}
    offset = post(client, "/observe", more, {"id": "gone", "y": "left"}, {"id": "e", "y": "left"}).json()
    assert [offset[k] for k in ("learned", "duplicate", "unknown")] == [1, 1, ["gone"]]
    (predictions,) = post(client, "/predict", {"task": "ann", "x": x}).json()["predictions"]
    assert (predictions["label"], predictions["known_task"]) == ("bought", True)
    assert 0.5 < predictions["p"] < 1
    missing = "records[1].task: task is missing: the known tasks have names such as 'ann'"
    assert post(client, "/predict", {"task": "ann", "x": x}, {"x": x}).json() == {"error": missing}
    assert post(client, "/predict", *[{"task": "ann", "x": x}] * 20).json()["predictions"] == [predictions] * 20
    assert client.get("/tasks").json() == {"tasks": ["ann", 7], "known": 2}
    assert client.get("/tasks/7").json()["error"] == "task '7' is unknown; for a number or a truth value: /task?json=…"
    assert client.delete("/task?json=7").json()["forgotten"] == 7
    assert client.get("/tasks?most=1").json() == {"tasks": ["ann"], "known": 1}
    assert client.delete("/task?json=7").status_code == 404
    assert client.get("/snapshot").status_code == 200
    assert client.post("/snapshot").json()["offset"] == client.get("/readyz").json()["offset"]
    predictions = client.get("/verdict").json()
    assert predictions["sentence"].startswith("A constant guess does as well as learning together (gain in log loss")
    assert predictions["remarks"] == ["Nothing has been learned yet that pays."]
    assert set(predictions["gains"]) == set(predictions["error_rate"]) - {"together"}
    assert predictions["verdict"]["sizes"][0]["tasks"] == 1  # the other one was forgotten
    assert (predictions["examples"], predictions["error_rate"]["constant"]) == (2, 0.5)
    assert client.get("/verdict?against=nobody").json()["error"].startswith("there is no 'nobody' among")
    assert client.get("/state").json()["alarms"] == {}
    assert client.get("/tasks?contains=AN").json()["tasks"] == ["ann"]
    assert client.get("/tasks/ann").json()["nearest"] == []
    assert client.get("/tasks/nobody").status_code == 404
    assert "live.js" in client.get("/").text
    assert client.get("/assets/style.css").headers["content-type"].startswith("text/css")
    assert client.get("/assets/other.js").status_code == 404
    metrics = client.get("/metrics").text
    assert 'coterie_error_ratio{learner="constant"}' in metrics
    assert 'coterie_alarm{alarm="error"} 0.0' in metrics
    assert 'coterie_records_total{verb="observe"} 4.0' in metrics
    assert "coterie_duplicates_total 1.0" in metrics


def of_one(**changed):
    """A body of one record."""
    record = {"task": "a", "x": {"p": 1}, "y": True} | changed
    return json.dumps({"records": [{name: value for name, value in record.items() if value is not None}]}).encode()


DEEP = b'{"records":[{"task":"a","x":{"p":' + b"[" * 1900 + b"]" * 1900 + b'},"y":true}]}'
BAD = [
    ("/observe", b"{", 400, "the body is not JSON"),
    ("/observe", of_one(x={"p": float("nan")}), 400, "(byte 38); JSON has no NaN: send null"),
    ("/observe", b"[]", 422, 'Expected `object`, got `array`; expected {"records": [{"id": …, "task": …, "x": {…}, '),
    ("/observe", of_one(colour=1), 422, "unknown field `colour`"),
    ("/observe", of_one(task=["a"]), 422, "$.records[0].task"),
    ("/observe", of_one(y=None), 422, "records[0].y is missing"),
    ("/observe", of_one(task=None, x=None), 422, "records[0] needs x, or the id of a record that was predicted"),
    ("/observe", of_one(id="", task=None, x=None), 422, "Expected `str` of length >= 1 - at `$.records[0].id`"),
    ("/observe", of_one(id="e", x=None), 422, "records[0].task is without x"),
    ("/observe", of_one(x={"p": 1e300}), 422, "records[0].x: feature 'p': 1e+300 is beyond the limit"),
    ("/observe", of_one(x={"p": 2**64}), 422, "records[0] has a whole number of"),
    ("/predict", of_one(id="e", x={"p": 2**70}, y=None), 422, "records[0] has a whole number of"),
    ("/predict", of_one(x={"p": 2**70}, y=None), 422, "records[0] has a whole number of"),
    ("/observe", of_one(task=2**64), 422, "records[0]"),
    ("/observe", of_one(x={"p": "X"}).replace(b"X", b"\xff"), 400, "the body is not JSON"),
    ("/observe", DEEP, 422, "got `array` - at `$.records[0].x[...][0]`"),
    ("/observe", b'{"records":[' + b",".join([b"{}"] * 21) + b"]}", 413, "21 records are too many; at most 20 are all"),
]


@pytest.mark.parametrize(("path", "body", "status", "message"), BAD)
def test_a_bad_request_is_refused_whole(client, path, body, status, message):
    answer = client.post(path, content=body)
    assert answer.status_code == status
    assert message in answer.json()["error"]
    assert client.get("/tasks").json()["known"] == 0
    assert client.post("/observe", content=of_one()).json()["learned"] == 1


def test_a_request_of_no_records_is_not_written_and_what_there_is_not_is_said_in_json(client):
    offset = client.get("/readyz").json()["offset"]
    assert post(client, "/observe").json() == {"learned": 0, "duplicate": 0, "unknown": [], "offset": offset}
    assert client.get("/readyz").json()["offset"] == offset
    assert client.get("/nothing").json() == {"error": "GET /nothing: Not Found"}
    assert client.post("/predict/", json={"records": []}).json() == {"error": "POST /predict/: Not Found"}
    for n in ("-1", "١"):
        error = f"first must be a whole number of 0 or more, got {n!r}"
        assert client.get(f"/tasks?first={n}").json() == {"error": error}
    refused = client.get("/predict")
    assert (refused.status_code, refused.json()) == (405, {"error": "GET /predict: Method Not Allowed"})
    assert set(client.put("/tasks/ann").headers["allow"].split(", ")) == {"GET", "HEAD", "DELETE"}


def test_a_body_that_does_not_come_is_not_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr("coterie.server.app.BODY_SECONDS", 0.05)

    answer = []

    async def never():
        await asyncio.sleep(60)

    async def send(message):
        answer.append(message)

    headers = [(b"host", b"localhost")]
    scope = {"type": "http", "method": "POST", "path": "/observe", "headers": headers, "query_string": b""}
    with Service(tmp_path, make) as service:
        asyncio.run(make_app(service)(scope, never, send))
    assert answer[0]["status"] == 408
    assert b"was not complete within" in answer[1]["body"]


def test_compressed_bodies_are_refused(client):
    answer = client.post("/observe", content=gzip.compress(of_one()), headers={"Content-Encoding": "gzip"})
    assert (answer.status_code, client.get("/state").json()["tasks"]) == (415, 0)
    assert answer.json()["error"] == "Content-Encoding 'gzip' is not supported; send the body as it is"


def test_a_prediction_that_cannot_be_made_leaves_nothing_waiting(client):
    post(client, "/observe", {"task": "a", "x": {"p": 1.0}, "y": True})
    assert post(client, "/predict", {"id": "e", "task": "a", "x": {"p": 1e300}}).status_code == 422
    assert post(client, "/predict", {"id": "e", "task": "a", "x": {"p": 1.0}, "y": True}).status_code == 422
    assert post(client, "/predict", {"id": "e", "task": "a"}).status_code == 422
    assert post(client, "/observe", {"id": "e", "y": True}).json()["unknown"] == ["e"]


def test_where_too_much_waits_a_client_is_told_to_come_back(blocked_service):
    service, asked, go_on = blocked_service
    client = TestClient(make_app(service))
    asked += [service.submit("observed", labelled(1)) for _ in range(3)]
    expected = {"error": "too many records wait to be written: 3 of at most 3; try again later"}
    x = {"x0": 1.0}
    observe = {"id": "later", "task": "u1", "x": x, "y": True}
    for path, more in (("/observe", observe), ("/predict", {"id": "e", "task": "u1", "x": x})):
        answer = post(client, path, more)
        assert (answer.status_code, answer.headers["Retry-After"], answer.json()) == (429, "1", expected)
    assert post(client, "/predict", {"task": "u1", "x": x}).status_code == 200  # which waits for nothing
    assert "coterie_queue_depth 3.0" in client.get("/metrics").text
    go_on.set()
    assert [future.result(60).learned for future in asked] == [1] * 4
    assert post(client, "/observe", more | {"task": "u1", "y": True}).json()["learned"] == 1
    assert "later" not in service.engine.learned


def test_long_requests_share_no_frame_and_longer_ones_are_refused(blocked_service, monkeypatch):
    service, asked, go_on = blocked_service
    monkeypatch.setattr(services, "GROUP_BYTES", 1)
    asked += [service.submit("observed", labelled(1)) for _ in range(3)]
    go_on.set()
    assert len({future.result(60).offset for future in asked}) == 4
    monkeypatch.setattr(services, "REQUEST_BYTES", 999)
    with pytest.raises(RefusedError, match="longer than 999 bytes together: send several requests"):
        service.observe(labelled(100))
    assert service.observe(labelled(1)).learned == 1


def test_a_service_that_failed_says_so(blocked_service, monkeypatch):
    service, asked, go_on = blocked_service
    client = TestClient(make_app(service))

    monkeypatch.setattr(os, "fdatasync", full_disk)
    asked.append(service.submit("observed", labelled(1)))
    go_on.set()
    with pytest.raises(ClosedError):
        asked[1].result(60)
    x = {"x0": 1.0}
    for answer in (
        post(client, "/observe", {"task": "u1", "x": x, "y": True}),
        post(client, "/predict", {"id": "e", "task": "u1", "x": x}),
        client.post("/snapshot"),
        client.delete("/tasks/u0"),
        client.get("/readyz"),
    ):
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")
        path = service.folder / f"journal-{0:020d}"
        assert answer.json() == {"error": f"the service failed: [Errno 28] No space left on device: '{path}'"}
    assert client.get("/healthz").status_code == 200


def test_the_newest_snapshot_is_told(client, monkeypatch):
    offsets = []
    for price in (1.0, 2.0, 3.0):
        post(client, "/observe", {"task": "ann", "x": {"price": price}, "y": price > 1})
        offsets.append(client.post("/snapshot").json()["offset"])
        answer = client.get("/snapshot")
        assert answer.headers["content-disposition"] == f'attachment; filename="snapshot-{offsets[-1]:020d}.coterie"'
    post(client, "/observe", {"task": "ann", "x": {"price": 4.0}, "y": True})
    service = client.app.state.app.service
    monkeypatch.setattr(service, "snapshots", Mock(side_effect=[[service.folder / "replaced"], service.snapshots()]))
    answer = client.get("/snapshot")  # the journal is ahead of it, and has the rest
    assert f"{offsets[-1]:020d}" in answer.headers["content-disposition"]
    monkeypatch.undo()
    assert answer.content == next(service.folder.glob(f"*{offsets[-1]}.coterie")).read_bytes()


# -- a process that is killed ------------------------------------------------------------------------------------------


def start(folder, *more, before="", preexec_fn=None):
    """A service as its user starts it, after some code; its address."""
    options = {"stderr": subprocess.PIPE, "text": True, "start_new_session": True, "preexec_fn": preexec_fn}
    process = terminal.start("serve", "--data", folder, "--port", 0, *more, before=before, **options)
    line = next(line for line in process.stderr if not line.startswith("coterie: warning: "))
    assert "listening on http://127.0.0.1:" in line, line + process.communicate()[1]
    return process, line.split("listening on ")[1].strip()


@contextmanager
def serving(folder, *more, **options):
    """A service as its user starts it, which is told to end with the block, and ends well; its process and address."""
    process, url = start(folder, *more, **options)
    try:
        yield process, url
    finally:
        process.terminate()
        error_output = process.communicate(timeout=300)[1]
    assert (process.returncode, error_output) == (0, "")


def port_of(url):
    """What a socket connects to."""
    return "127.0.0.1", int(url.rpartition(":")[2])


def wait_until_ready(url):
    """Wait until a service has compiled its code."""
    import httpx2 as httpx

    terminal.wait_until(lambda: httpx.get(f"{url}/readyz", timeout=60).status_code != 503)


def killed_amid(started, exchange, first, acknowledged):
    """Kill a service that was started while three clients ``exchange`` requests for answers, each from a seed on.

    It is killed no sooner than twenty more records of all its clients were ``acknowledged``.
    """
    import httpx2 as httpx

    process, url = started
    stop, before = threading.Event(), len(acknowledged)

    def send(seed):
        rng = np.random.default_rng(seed)
        with httpx.Client(base_url=url, timeout=60) as client, suppress(httpx.HTTPError):
            while not stop.is_set():
                exchange(client, rng)

    clients = [threading.Thread(target=send, args=(first + k,)) for k in range(3)]
    for client in clients:
        client.start()
    terminal.wait_until(lambda: len(acknowledged) > before + 20)
    process.kill()
    process.communicate()
    stop.set()
    for client in clients:
        client.join()


def test_a_killed_service_has_all_that_it_acknowledged(tmp_path):
    import httpx2 as httpx

    acknowledged = set()

    def exchange(client, rng):
        names = [f"{rng.random()}" for _ in range(int(rng.integers(1, 9)))]
        x = {"a": rng.random(), "b": -rng.random()}
        post(client, "/predict", *({"id": name, "task": f"u{rng.integers(9)}", "x": x} for name in names))
        answer = post(client, "/observe", *({"id": name, "y": bool(rng.random() < 0.5)} for name in names))
        if answer.status_code == 200 and answer.json()["learned"] == len(names):
            acknowledged.update(names)

    for trial in range(2):
        started = start(tmp_path, "--learner", "MultitaskLogistic()", "--snapshot", "20")
        killed_amid(started, exchange, 10 * trial, acknowledged)
    with serving(tmp_path) as (_, url):
        wait_until_ready(url)
        assert httpx.get(f"{url}/readyz", timeout=60).json()["status"] == "ready"
    with Service(tmp_path, make) as service:
        assert acknowledged <= set(service.engine.learned)
        assert len(service.journal._firsts) == 1
        assert digest(rebuilt(tmp_path, lambda: Engine(ct.MultitaskLogistic()))) == digest(service.engine)


def test_a_service_that_is_told_to_end_answers_what_is_under_way(tmp_path):
    """A body that does not come is waited for during ten seconds, here three, and then told."""
    import httpx2 as httpx

    grace = "import coterie.cli.serve as serve; serve.GRACE = 3"
    process, url = start(tmp_path, "--learner", "MultitaskLogistic()", before=grace)
    record = {"task": "ann", "x": {"a": 1.0}, "y": True}
    body, first = (json.dumps({"records": [record | {"id": name}]}).encode() for name in "ef")
    httpx.post(f"{url}/observe", content=first, timeout=60).raise_for_status()
    head, place = f"POST /observe HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n", port_of(url)
    with socket.create_connection(place) as slow, socket.create_connection(place) as never:
        for sender in (slow, never):
            sender.settimeout(60)
            sender.sendall(f"{head}Expect: 100-continue\r\n\r\n".encode())
            assert sender.recv(1000).startswith(b"HTTP/1.1 100 Continue")  # it is under way
            sender.sendall(body[:20])
        process.terminate()
        with suppress(ConnectionRefusedError):
            while True:
                socket.create_connection(place).close()
        slow.sendall(body[20:])
        assert slow.recv(1000).startswith(b"HTTP/1.1 200 OK")
        given_up = b"".join(iter(lambda: never.recv(1000), b""))
        assert given_up.startswith(b"HTTP/1.1 503 Service Unavailable")
        assert given_up.endswith(b'{"error":"the service stopped before it could answer; send the request again"}')
        predictions = process.communicate(timeout=300)[1]
    assert (process.returncode, "Traceback" in predictions) == (0, False), predictions
    with Service(tmp_path, make) as service:
        assert (service.replayed, list(service.engine.learned)) == (0, ["f", "e"])


def shown(what, begins=""):
    """Wait, in a browser, until an element is there, and its text begins so."""
    look = f"document.querySelector('{what}')?.textContent.startsWith('{begins}') ? done() : setTimeout(look, 50)"
    return f"new Promise(done => {{ const look = () => {look}; look(); }})"


#: Wait, in a browser, until the live page has shown all that the service answers.
UPDATED = shown("#seen", "Updated")


def test_the_live_page_in_a_browser(tmp_path, chromium):
    import httpx2 as httpx

    with serving(tmp_path, "--alarm-error", "0.01") as (_, url):
        with chromium.page(width=1400, touch=False) as page:
            page.open(url)
            page.ask(UPDATED)
            assert page.ask("document.getElementById('sentence').textContent") == "No label has come yet."
        for first in range(0, 400, 50):
            records = [{"task": r.task, "x": r.x, "y": r.y} for r in labelled(400)[first : first + 50]]
            assert httpx.post(f"{url}/observe", json={"records": records}, timeout=60).status_code == 200
        time.sleep(1)
        large = 2**53 + 1  # not a number of JavaScript
        httpx.post(f"{url}/observe", json={"records": [records[0] | {"task": large}]}, timeout=60)
        for width in (1400, 390):
            with chromium.page(width=width, touch=width < 500) as page:
                page.open(url)
                page.ask(shown("#curve .scatterlayer .trace"))
                page.ask(UPDATED)
                assert page.errors == []
                assert page.ask("document.getElementById('sentence').textContent").startswith("Learning together")
                assert page.ask("document.querySelectorAll('#curve .scatterlayer .trace').length") == 7
                lines = "[...document.querySelectorAll('#curve .scatterlayer .trace path.js-line')]"
                look = "each.style.stroke + each.style.strokeDasharray"
                assert page.ask(f"new Set({lines}.map(each => {look})).size") == 7
                assert "one model for all" in page.ask("document.getElementById('gains').textContent")
                assert "features known" in page.ask("document.getElementById('state').textContent")
                assert "The error of the last" in page.ask("document.getElementById('alarms').textContent")
                assert page.ask("document.documentElement.scrollWidth") <= width
                typed = "each.value = 'U3'; each.dispatchEvent(new Event('input'))"
                page.ask(f"(each => {{ {typed} }})(document.getElementById('search'))")
                page.ask(shown("#found a"))
                page.ask("document.querySelector('#found a').click()")
                page.ask(shown("#task dl"))
                assert "differs in" in page.ask("document.getElementById('task').textContent")
                page.ask(f"(each => {{ {typed.replace('U3', str(large))} }})(document.getElementById('search'))")
                page.ask(shown("#found a", large))
