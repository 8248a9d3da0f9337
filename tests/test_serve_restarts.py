"""Promises of a service that hold over snapshots and restarts, and starts that are refused."""

import errno
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

import coterie as ct
from coterie import persistence
from coterie.server import service as services
from coterie.server.app import make_app
from coterie.server.service import Service
from coterie.server.service_errors import ClosedError
from faults import full_disk
from test_serve import TestClient, labelled, make
from test_serve_damage import contents, kill
from test_serve_forgetting import GONE, holders, record, wait_until_gone


@pytest.fixture
def slow(monkeypatch):
    """Hold each write of a snapshot, once its engine is copied, until ``release`` is set."""
    release, copied, replacing = threading.Event(), threading.Event(), persistence.replacing

    def replace_slowly(path, mode):
        copied.set()
        assert release.wait(60)
        return replacing(path, mode)

    replace_slowly.release, replace_slowly.copied = release, copied
    replace_slowly.begin = lambda: monkeypatch.setattr(persistence, "replacing", replace_slowly)
    yield replace_slowly
    release.set()


# -- snapshots ---------------------------------------------------------------------------------------------------------


def test_a_requested_snapshot_has_what_was_acknowledged_before(tmp_path, slow):
    """It is not the one that is being written when the request comes."""
    with Service(tmp_path, make) as service, ThreadPoolExecutor(3) as pool:
        client = TestClient(make_app(service))
        service.observe([record(GONE), *labelled(5)])
        slow.begin()
        first = pool.submit(service.snapshot)
        assert slow.copied.wait(60)
        offset = client.delete(f"/tasks/{GONE}").json()["offset"]
        service.observe([record("later", id="later")])
        later = [pool.submit(service.snapshot) for _ in range(2)]
        time.sleep(0.2)
        assert not any(thread.done() for thread in (first, *later))
        assert service.observe([record("ann", id="meanwhile")]).learned == 1  # learning goes on
        slow.release.set()
        assert first.result(60) < offset < later[0].result(60) == later[1].result(60)
        saved = ct.load(service.snapshots()[-1])
        assert "later" in saved.learned
        assert GONE not in saved.tasks
        assert holders(tmp_path) == set()


@pytest.mark.parametrize("end", ["close", "failure"])
def test_a_snapshot_put_off_is_answered_when_the_service_ends(tmp_path, monkeypatch, slow, end):
    service = Service(tmp_path, make)
    with ThreadPoolExecutor(3) as pool:
        service.observe(labelled(5))
        slow.begin()
        first = pool.submit(service.snapshot)
        assert slow.copied.wait(60)
        offset = service.observe(labelled(1)).offset
        later = pool.submit(service.snapshot)
        time.sleep(0.2)
        if end == "failure":
            monkeypatch.setattr(service.journal, "append", lambda payload: 1 / 0)
            with pytest.raises(ClosedError):
                service.observe(labelled(1))
        closing = pool.submit(service.close)
        time.sleep(0.2)
        slow.release.set()
        assert first.result(60) < offset
        if end == "failure":
            with pytest.raises(ClosedError, match="the service failed: division by zero"):
                later.result(60)
        else:
            assert later.result(60) >= offset
        closing.result(60)


def test_a_snapshot_whose_journal_file_cannot_be_made_is_answered(tmp_path, monkeypatch):
    """Or the failed process would wait for the answer and never end."""
    with Service(tmp_path, make) as service:
        service.observe([record(GONE), *labelled(5)])
        service.forget([GONE])
        monkeypatch.setattr(service.journal, "_create", full_disk)
        errors = []

        def ask():
            with suppress(OSError):
                service.snapshot()
            errors.append(service.failure)

        asking = threading.Thread(target=ask, daemon=True)
        asking.start()
        asking.join(60)
        assert [error.errno for error in errors] == [errno.ENOSPC]


# -- what a start promises and refuses ---------------------------------------------------------------------------------


def test_a_restart_does_not_put_off_the_purge_of_a_forgotten_task(tmp_path, monkeypatch):
    monkeypatch.setattr(services, "PURGE", 300.0)
    service = Service(tmp_path, make, every_seconds=None)
    service.observe([record(GONE), *labelled(5)])
    service.forget([GONE])
    kill(service)
    assert holders(tmp_path)
    with Service(tmp_path, make, every_seconds=None) as again:
        wait_until_gone(tmp_path)
        assert again.failure is None


def refuse(*engine):
    raise ValueError("no")


#: How a folder is begun, and how the start that is refused is made.
REFUSED_STARTS = {
    "the model": ("nothing", lambda folder: Service(folder, refuse)),
    "options in a new folder": ("nothing", lambda folder: Service(folder, make, check=refuse)),
    "options": ("killed", lambda folder: Service(folder, make, check=refuse)),
    "options after a loss of the last frame": ("torn", lambda folder: Service(folder, make, check=refuse)),
    "the newest snapshot": ("damaged", lambda folder: Service(folder, make)),
    "a snapshot alone": ("alone", lambda folder: Service(folder, make, check=refuse)),
}


@pytest.mark.parametrize("case", REFUSED_STARTS)
def test_a_refused_start_writes_nothing(tmp_path, case):
    state, start = REFUSED_STARTS[case]
    folder = tmp_path / "s"
    if state != "nothing":
        service = Service(folder, make)
        service.observe(labelled(5))
        service.snapshot()
        service.observe(labelled(3))
        kill(service)
        (journal,) = folder.glob("journal-*")
        newest = service.snapshots()[-1]
        if state == "torn":
            journal.write_bytes(journal.read_bytes() + b"half a frame")
        if state == "damaged":
            newest.write_bytes(newest.read_bytes()[:100])
        if state == "alone":
            for path in set(folder.iterdir()) - {newest}:
                path.unlink()
    before = contents(folder) if folder.exists() else None
    times = {path: path.stat().st_mtime_ns for path in folder.glob("*")}
    for _ in range(2):
        with pytest.raises(ValueError):  # noqa: PT011 - several messages
            start(folder)
    assert (contents(folder) if folder.exists() else None) == before
    assert {path: path.stat().st_mtime_ns for path in folder.glob("*")} == times


def test_a_snapshot_that_cannot_be_read_is_refused_with_the_reason(tmp_path, monkeypatch):
    Service(tmp_path, make).close()
    before, path_open = contents(tmp_path), Path.open

    def refuse(path, *arguments, **more):
        if path.name.startswith("snapshot-"):
            raise PermissionError(13, "Permission denied", str(path))
        return path_open(path, *arguments, **more)

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(PermissionError, match=r"Permission denied.*snapshot-"):
        Service(tmp_path, make)
    monkeypatch.undo()
    assert contents(tmp_path) == before
