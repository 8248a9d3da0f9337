"""Damage in a service's folder: what was acknowledged is there at the next start, or the start says that it is not."""

import os
import shutil

import numpy as np
import pytest

from coterie.server.journal import HEAD, MARK, Journal, cut_at_damage, frames_in, read_flushed
from coterie.server.service import Service
from states import digest
from terminal import refused
from test_serve import make, record, write_journal

NAMES = [f"e{k}" for k in range(6)]


def kill(service):
    """Leave a folder as a crash of its process does: free, and with nothing more written."""
    service._closed = True
    service._lock.close()


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Folders of services that were killed after six answers, or ended."""
    root, rng = tmp_path_factory.mktemp("folders"), np.random.default_rng(0)
    for end in ("killed", "ended"):
        service = Service(root / f"service {end}", make)
        for name in NAMES:
            service.observe([record(rng, name)])
        kill(service) if end == "killed" else service.close()
    return root


def journal_of(folder):
    (path,) = folder.glob("journal-*")
    return path


def ends(folder):
    return [len(MARK) + frame.end for frame in frames_in(journal_of(folder).read_bytes()[len(MARK) :], 0)]


def altered(path, at):
    data = bytearray(path.read_bytes())
    data[at] ^= 4
    path.write_bytes(data)


def torn(folder):
    path = journal_of(folder)
    path.write_bytes(path.read_bytes() + HEAD.pack(90, 1, ends(folder)[-1] - len(MARK)) + b"half")


def zeroed(path, first):
    size = path.stat().st_size
    os.truncate(path, first)
    os.truncate(path, size)


def shortened(folder, size):
    os.truncate(journal_of(folder), size)
    return folder


def deleted(folder, *patterns):
    for pattern in patterns:
        for path in folder.glob(pattern):
            path.unlink()


BOTH, NEITHER = {"killed", "ended"}, set()
#: What is done to a folder, whether its next start is refused where all answers are in the journal alone (it was killed)
#: and where they are in the last snapshot as well (it ended), and how many of the six are there with the loss accepted.
DAMAGE = {
    "nothing": (lambda folder: None, NEITHER, 6),
    "half a frame behind the last": (torn, NEITHER, 6),
    "a bit of the last frame": (lambda folder: altered(journal_of(folder), -3), BOTH, 5),
    "a bit of the third frame": (lambda folder: altered(journal_of(folder), ends(folder)[2] - 3), BOTH, 2),
    "a bit of the mark": (lambda folder: altered(journal_of(folder), 3), BOTH, 0),
    "half of the last frame cut off": (lambda folder: shortened(folder, ends(folder)[-1] - 30), BOTH, 5),
    "three frames cut off": (lambda folder: shortened(folder, ends(folder)[2]), BOTH, 3),
    "three frames zeroed": (lambda folder: zeroed(journal_of(folder), ends(folder)[2]), BOTH, 3),
    "all frames cut off": (lambda folder: shortened(folder, len(MARK)), BOTH, 0),
    "an empty journal": (lambda folder: shortened(folder, 0), BOTH, 0),
    "no journal": (lambda folder: deleted(folder, "journal-*"), {"killed"}, 0),
    "no snapshot": (lambda folder: deleted(folder, "snapshot-*"), BOTH, 6),
    "no journal and no snapshot": (lambda folder: deleted(folder, "journal-*", "snapshot-*"), BOTH, 0),
    "flushed deleted": (lambda folder: deleted(folder, "flushed"), BOTH, 6),
    "flushed of zeros": (lambda folder: zeroed(folder / "flushed", 0), BOTH, 6),
    "flushed of eight zeros": (lambda folder: (folder / "flushed").write_bytes(bytes(8)), BOTH, 6),
    "an empty flushed": (lambda folder: (folder / "flushed").write_bytes(b""), BOTH, 6),
    "flushed torn": (lambda folder: os.truncate(folder / "flushed", 11), BOTH, 6),
    "a bit of flushed": (lambda folder: altered(folder / "flushed", 2), BOTH, 6),
    "flushed and three frames gone": (lambda folder: deleted(shortened(folder, ends(folder)[2]), "flushed"), BOTH, 3),
}


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("end", ["killed", "ended"])
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_start_says_what_a_service_has_lost(folders, tmp_path, damage, end):
    done, refused, left = DAMAGE[damage]
    folder = tmp_path / "s"
    shutil.copytree(folders / f"service {end}", folder)
    done(folder)
    if end not in refused:
        with Service(folder, make) as service:
            assert list(service.engine.learned) == NAMES
        return
    before = contents(folder)
    with pytest.raises(ValueError, match="; put back a backup; or go on with what can be read by --accept-loss"):
        Service(folder, make)
    assert contents(folder) == before
    whole = end == "ended" and "snapshot" not in damage
    with Service(folder, make, accept_loss=True) as service:
        assert list(service.engine.learned) == NAMES[: 6 if whole else left]
        assert service.accepted is not None
        state = digest(service.engine)
        kill(service)
    with Service(folder, make) as again:  # nothing more has to be accepted
        assert digest(again.engine) == state
        assert again.observe([record(np.random.default_rng(1), "after")]).learned == 1
        kill(again)
    with Service(folder, make) as again:
        assert list(again.engine.learned)[-1] == "after"


# -- how far the disk was waited for -----------------------------------------------------------------------------------


def test_nothing_more_is_waited_for(tmp_path, monkeypatch):
    """An answer takes one flush, and `flushed` none: only the end of a file waits for that."""
    calls = []
    real = {name: getattr(os, name) for name in ("fsync", "fdatasync", "pwrite")}
    with Service(tmp_path, make) as service:
        for name, call in real.items():
            monkeypatch.setattr(os, name, lambda *args, name=name, call=call: calls.append(name) or call(*args))
        service.observe([record(np.random.default_rng(3))])
        assert calls == ["fdatasync", "pwrite"]
        monkeypatch.undo()


@pytest.mark.parametrize("start", [0, 21, 84])
def test_what_is_left_of_a_journal_reaches_from_the_snapshot_on(tmp_path, start):
    """Whatever byte is altered, what is readable from an offset on stays, and the rest is deleted."""
    payloads = [bytes([65 + k]) * 5 for k in range(8)]
    whole = tmp_path / "whole"
    whole.mkdir()
    write_journal(whole, 50, payloads)
    files = sorted(whole.glob("journal-*"))
    assert [int(path.name[-3:]) for path in files] == [0, 63, 126]
    for k, path in enumerate(files):
        for at in range(0, path.stat().st_size, 5):
            folder = tmp_path / f"{k} {at}"
            shutil.copytree(whole, folder)
            altered(folder / path.name, at)
            bad = 3 * k + max(at - len(MARK), 0) // 21  # the frame that is altered, or the first of the file
            span = range(3 * k, min(3 * k + 3, 8)) if at < len(MARK) else range(bad, bad + 1)
            begin = start // 21
            reach = next((j for j in range(begin, 8) if j in span), 8)
            assert cut_at_damage(folder, start) == 21 * reach
            left = Journal(folder, segment=50, first=start).begin()
            assert left.end == 21 * reach == read_flushed(folder)
            assert [frame.payload for frame in left.read(start)] == payloads[begin:reach]
            assert left.first == start
            left.append(b"after")
            left.close()
            assert [frame.payload for frame in Journal(folder, segment=50).read(start)][-1] == b"after"


def test_the_command_refuses_a_loss_or_tells_that_it_was_accepted(folders, tmp_path, served):
    folder = tmp_path / "s"
    shutil.copytree(folders / "service killed", folder)
    shortened(folder, ends(folder)[2])
    message = refused("serve", "--data", folder, "--port", 0)
    assert "bytes of acknowledged frames are missing or damaged; put back a backup; or go on" in message
    assert served(folder, "--accept-loss")[0].startswith("coterie: warning: a loss was accepted: the journal in ")


def test_a_start_with_a_snapshot_alone_warns_that_labels_after_it_are_lost(folders, tmp_path, served):
    folder, whole = tmp_path / "s", tmp_path / "whole"
    shutil.copytree(folders / "service killed", whole)
    folder.mkdir()
    for snapshot in whole.glob("snapshot-*"):
        shutil.copy(snapshot, folder)
    (warning,) = (line for line in served(folder) if "warning" in line)
    assert f"{folder} has a snapshot and no journal: it continues from offset" in warning
    assert not [line for line in served(folder) if "warning" in line]  # which has begun a journal
    assert not [line for line in served(whole) if "warning" in line]
