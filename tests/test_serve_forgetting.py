"""What a service forgets is the task that was named, in memory and on the disk; and clocks that were wrong."""

import json
import time
from contextlib import suppress
from urllib.parse import quote

import pytest

import coterie as ct
from coterie.server import service as services
from coterie.server.app import make_app
from coterie.server.bandit_engine import BanditEngine
from coterie.server.engine import Engine
from coterie.server.events import Event, JournalRecord, Record
from coterie.server.service import Service
from coterie.server.service_errors import RefusedError, UnknownError
from states import digest, reloaded
from terminal import wait_until
from test_serve import TestClient, labelled, make, rebuilt

GONE = "mallory-who-leaves"


def record(task, k=0, **fields):
    return Record(task=task, x={"a": 1.0 + k}, y=k % 2 == 0, **fields)


def holders(folder):
    """The files that hold the name of the task that was forgotten; one that is renamed meanwhile is left out."""
    names = set()
    for path in folder.iterdir():
        with suppress(FileNotFoundError):
            if GONE.encode() in path.read_bytes():
                names.add(path.name)
    return names


def wait_until_gone(folder):
    wait_until(lambda: holders(folder) == set(), 60)


# -- which task --------------------------------------------------------------------------------------------------------

TASKS = ["7", 7, "true", True, "a\nb", "a/b", "", "é", 2.5, "2.5", "/task", "?json=7", "null", "%41"]


@pytest.mark.parametrize("task", TASKS, ids=repr)
def test_a_task_is_forgotten_by_what_it_is_and_retries_forget_nothing_else(tmp_path, task):
    with Service(tmp_path, make) as service:
        service.observe([record(task, k) for k, task in enumerate(TASKS)])
        client = TestClient(make_app(service))
        address = f"/task?json={quote(json.dumps(task), safe='')}"
        assert client.get(address).json()["task"] == task
        assert client.delete(address).json()["forgotten"] == task
        for _ in range(2):
            assert client.delete(address).status_code == 404
        with pytest.raises(UnknownError):  # so does another request that waited for this one
            service.forget([task])
        assert list(service.engine.tasks) == [name for name in service.engine.tasks if name != task]
        assert set(service.engine.tasks) == {name for name in TASKS if name != task}


def test_a_path_names_a_text(tmp_path):
    with Service(tmp_path, make) as service:
        service.observe([record(task, k) for k, task in enumerate(["7", 7, "a/b", "ann", "ann\n", "a\nb"])])
        client = TestClient(make_app(service))
        assert client.delete("/tasks/7").json()["forgotten"] == "7"
        answer = client.delete("/tasks/7")
        message = "task '7' is unknown; for a number or a truth value: /task?json=…"
        assert (answer.status_code, answer.json()["error"]) == (404, message)
        for task in ("a/b", "ann\n", "a\nb"):
            assert client.delete(f"/tasks/{quote(task)}").json()["forgotten"] == task
        assert set(service.engine.tasks) == {7, "ann"}
        for text in ("", "x", "[7]", "null", "{}", '"a', "7 8"):
            answer = client.delete("/task", params={"json": text})
            assert (answer.status_code, answer.json()["error"][:13]) == (422, "json must be ")


def test_a_task_that_was_only_predicted_has_no_record_yet(tmp_path):
    with Service(tmp_path, lambda: Engine(ct.AdaptiveSharingClassifier())) as service:
        client = TestClient(make_app(service))
        for known in (False, True):
            service.predict([Record(id="e", task="new", x={"a": 1.0})])
            service.forget(["other"]) if known else service.observe([record("other")])
            answer = client.get("/tasks/new")
            assert (answer.status_code, answer.json()) == (200, {"task": "new", "waiting": 1, "examples": 0})
        assert client.delete("/tasks/new").status_code == 200
        assert client.get("/tasks/new").status_code == 404


# -- the disk ----------------------------------------------------------------------------------------------------------


def test_a_forgotten_task_leaves_the_disk_with_the_next_snapshot(tmp_path):
    (tmp_path / ".snapshot-00000000000000000007.coterie.coterie-0badcafe").write_text(GONE)  # of a killed process
    with Service(tmp_path, make) as service:
        assert not holders(tmp_path)  # or a process that is killed again and again would fill the disk
        service.observe(labelled(20))
        service.observe([record(GONE, k) for k in range(6)])
        service.snapshot()
        service.observe([record(GONE, k) for k in range(6)])
        service.predict([Record(id="w", task=GONE, x={"a": 1.0})])
        service.snapshot()
        assert len(holders(tmp_path)) == 3
        client = TestClient(make_app(service))
        result = client.delete(f"/tasks/{GONE}").json()
        assert result["on_disk"] == "until a snapshot at this offset or later, which is begun within 300 seconds"
        assert client.post("/snapshot").json()["offset"] >= result["offset"]
        assert holders(tmp_path) == set()
        assert (len(service.snapshots()), service.journal.first) == (1, result["offset"])
        service.observe(labelled(20, seed=1))
        state = digest(service.engine)
        service._lock.close()  # as if the process were gone
    with Service(tmp_path, make) as again:
        assert digest(again.engine) == state
        assert GONE not in again.engine.tasks
        again.observe([record(GONE)])  # who comes again is new, and stays
        for _ in range(2):
            again.observe(labelled(3))
            again.snapshot()
        assert GONE in again.engine.tasks
        assert len(again.snapshots()) == 2


def test_a_forgotten_task_leaves_the_disk_within_a_time(tmp_path, monkeypatch):
    """Also where nobody asks anything more, and whatever --snapshot says."""
    monkeypatch.setattr(services, "PURGE", 0.3)
    with Service(tmp_path, make, every_seconds=None) as service:
        service.observe([record(GONE), *labelled(5)])
        service.forget([GONE])
        assert holders(tmp_path)
        wait_until_gone(tmp_path)
        assert service.failure is None
        offset = service.snapshot_offset
        time.sleep(1.2)
        assert service.snapshot_offset == offset  # and then no more is written


@pytest.mark.parametrize("after", ["the frame", "the snapshot"])
def test_what_a_crash_left_of_a_forgotten_task_goes_later(tmp_path, monkeypatch, after):
    service = Service(tmp_path, make)
    service.observe([record(GONE), *labelled(5)])
    service.snapshot()
    service.forget([GONE])
    if after == "the snapshot":  # which was written, and the process killed before it deleted anything
        monkeypatch.setattr(services.Path, "unlink", lambda *args, **more: (_ for _ in ()).throw(OSError("killed")))
        with pytest.raises(OSError, match="killed"):
            service.snapshot()
        monkeypatch.undo()
    service._lock.close()
    assert holders(tmp_path)
    with Service(tmp_path, make) as again:
        assert GONE not in again.engine.tasks
        again.snapshot()
        assert holders(tmp_path) == set()
        assert len([again.snapshot() for _ in range(2)]) == 2
    with Service(tmp_path, make) as last:
        assert not last._must_purge


def test_a_service_that_ends_leaves_nothing_of_a_forgotten_task(tmp_path):
    with Service(tmp_path, make) as service:
        service.observe([record(GONE), *labelled(5)])
        service.forget([GONE])
    assert holders(tmp_path) == set()


# -- clocks ------------------------------------------------------------------------------------------------------------

DAY = 86_400.0


def waits(name):
    return [Record(id=name, task="ann", x={"a": 1.0})]


def test_after_a_start_ten_years_ahead_time_is_set_back(tmp_path, monkeypatch):
    now = [2e9]
    monkeypatch.setattr(services, "_steady_clock", lambda: lambda: now[0])
    monkeypatch.setattr(services, "KEPT", 100)  # the whole journal
    with Service(tmp_path, make) as service:
        service.predict(waits("before"))
        service.observe(labelled(3))
    now[0] += 3650 * DAY
    with Service(tmp_path, make) as ahead:
        assert (ahead.reset, ahead.engine.overdue(ahead.clock())) == (0.0, 1)
        ahead.predict(waits("ahead"))
        ahead.observe(labelled(3))
        assert list(ahead.engine.waiting) == ["ahead"]  # the one before has waited for ten years, it seemed
    now[0] -= 3650 * DAY - 60.0
    with Service(tmp_path, make) as back:
        assert back.reset == pytest.approx(3650 * DAY - 60.0)
        assert back.engine.at == now[0]
        back.predict(waits("now"))
        now[0] += DAY - 1.0
        back.observe(labelled(300))
        assert list(back.engine.waiting) == ["ahead", "now"]
        now[0] += 2.0
        back.observe(labelled(3))
        assert back.engine.waiting == {}
        assert back.engine.expired == 2
        state = digest(back.engine)
    assert digest(rebuilt(tmp_path)) == state
    with Service(tmp_path, make) as again:
        assert again.reset == 0.0


def test_a_clock_that_is_a_little_behind_is_waited_for(tmp_path, monkeypatch):
    now = [2e9]
    monkeypatch.setattr(services, "_steady_clock", lambda: lambda: now[0])
    with Service(tmp_path, make) as service:
        service.observe(labelled(3))
    now[0] -= services.BEHIND - 1.0
    with Service(tmp_path, make) as again:
        assert (again.reset, again.engine.at) == (0.0, 2e9)
        again.observe(labelled(3))
        assert again.engine.at == 2e9


# -- tasks that are equal, and records without a task ------------------------------------------------------------------

NOTHING_TASKS = [None, 0, 0.0, False, 1, 1.0, True, "", "0", "None", "False"]


def one_task(a, b):
    """Whether a record of the one and a record of the other are of one task: none is task 0, others as in Python."""
    return (0 if a is None else a) == (0 if b is None else b)


def begun_engine(kind):
    if kind == "labels":
        return Engine(ct.AdaptiveSharingClassifier()), "observed", lambda name: Record(id=name, y=True)
    return BanditEngine(ct.Bandit(actions=["a", "b"])), "rewarded", lambda name: JournalRecord(id=name, reward=1.0)


def let_wait(engine, name, task):
    if "chosen" in engine.kinds:
        return Event("chosen", 1.0, engine.choose([JournalRecord(id=name, task=task, x={"a": 1.0})]))
    return Event("predicted", 1.0, [Record(id=name, task=task, x={"a": 1.0})])


@pytest.mark.parametrize(
    ("kind", "gone", "learned"),
    [
        *(("labels", task, False) for task in NOTHING_TASKS[1:]),
        *(("labels", task, True) for task in NOTHING_TASKS[1:3]),
        *(("rewards", 0, learned) for learned in (False, True)),
    ],
)
def test_what_waits_of_a_forgotten_task_is_never_learned(kind, gone, learned, tmp_path):
    """Nor does it bring the task back; what waits of other tasks is learned, if there was a restart, too."""
    for task in NOTHING_TASKS:
        engine, verb, label = begun_engine(kind)
        if learned:
            before = None if task is None and gone == 0 else gone
            engine.apply_frame([let_wait(engine, "first", before), Event(verb, 1.0, [label("first")])], 1)
            if (task is None or isinstance(task, str) != isinstance(gone, str)) and not one_task(task, gone):
                continue  # records without a task, and 0 beside "0", are refused
        engine.apply_frame([let_wait(engine, "w", task)], 2)
        learned_before = engine.features.n
        same = one_task(task, gone)
        if same or learned:
            assert engine.about(gone)["waiting"] == same
        (result,) = engine.apply_frame([Event("forgotten", 2.0, [Record(task=gone)])], 3)
        assert isinstance(result, RefusedError) == (not same and not learned)
        assert list(engine.waiting) == ([] if same else ["w"])
        assert list(engine.learned) == (["first"] if learned and kind == "labels" else [])
        for started in (reloaded(engine, tmp_path / "engine"), engine):
            started.apply_frame([Event(verb, 3.0, [label("w")])], 4)
            assert [one_task(task, other) for other in started.tasks] == ([] if same else [True])
            assert started.features.n - learned_before == (not same)
