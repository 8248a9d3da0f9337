"""A model in a file: going on equals never having stopped, and no other file is loaded.

Nobody waits for the disk, and whatever fails leaves a whole file.
"""

import copy
import errno
import json
import os
import pickle
import resource
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import numpy as np
import pytest
import scipy.sparse as sp
from safetensors import safe_open
from safetensors.numpy import save as pack

import coterie as ct
import kinds
from coterie import persistence
from coterie._compiled.weights.sparse import Sparse, SparsePairs
from kinds import MODELS, QUICK, form_of, predictions, taught
from slow import slow
from states import content, digest, reloaded, unpickled
from streams import linear_stream
from terminal import fork

STREAM = linear_stream(91, zeros=0.3)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.coterie"


def names(folder):
    return [path.name for path in folder.iterdir()]


# -- going on ----------------------------------------------------------------------------------------------------------

#: A projection multiplies matrices whose room differs after loading, and BLAS sums them in another order: what goes on is
#: equal to rounding, not bit for bit (docs/appendix/file-format.md). Copies are equal all the same.
TO_ROUNDING = {"kernel-shared-projection", "kernel-projection-sparse-graph"}


@pytest.mark.parametrize("name", [name if name in QUICK else slow(name) for name in MODELS])
def test_every_kind_of_model_goes_on_from_a_file_and_as_a_copy(name, path):
    through, form = kinds.learned(name), form_of(name)
    others = [reloaded(through, path), copy.deepcopy(through), unpickled(through)]
    for model in (through, *others):
        if hasattr(model, "learn_one"):
            taught(model, form)
    before = predictions(through, form)
    if name in TO_ROUNDING:
        expected, arrays = (one.__stream_model__().learner.dump(one.state_)[1] for one in (through, others.pop(0)))
        for array, numbers in expected.items():
            np.testing.assert_allclose(arrays[array], numbers, rtol=1e-9, atol=1e-12)
    for other in others:
        assert digest(other) == digest(through)
        assert predictions(other, form) == before


def test_a_parameter_without_a_form_is_refused_before_anything_is_written(path):
    model = ct.MultitaskPerceptron().fit(STREAM.X, STREAM.y, STREAM.task).set_params(task_column=3j)
    with pytest.raises(TypeError, match=r"a complex .* has no JSON form; use numbers, strings, tuples or dates"):
        model.save(path)
    with pytest.raises(TypeError, match=r"a Mine cannot be loaded from a file: it is a class of your own; save the"):
        type("Mine", (ct.MultitaskPerceptron,), {})().fit(STREAM.X, STREAM.y, STREAM.task).save(path)
    assert names(path.parent) == []


# -- files that are refused --------------------------------------------------------------------------------------------


@pytest.fixture
def saved(path):
    ct.MultitaskPerceptron(ct.MeanRegularized(b=3)).fit(STREAM.X[:5], [1, 0, 1, 0, 1]).save(path)
    return path


def refused(path, message, error=ValueError):
    with pytest.raises(error, match=message) as raised:
        ct.load(path)
    text = str(raised.value)
    assert str(path) in text
    assert "\n" not in text
    return text


def rewritten(path, tensors=None, **changes):
    """The file with other metadata under a checksum that fits."""
    metadata, arrays = persistence._read(path)
    metadata, arrays = metadata | changes, arrays | (tensors or {})
    metadata["checksum"] = persistence._checksum(metadata, arrays)
    path.write_bytes(pack(arrays, metadata))


def test_formats_of_other_versions_are_refused(saved):
    for version, shown in ((f"{persistence.VERSION + 1}",) * 2, ("9" * 5000, "999999999")):
        rewritten(saved, version=version)
        refused(saved, f"has format {shown}, but this version of coterie reads only up to {persistence.VERSION}$")
    rewritten(saved, format="coterie", version="3")
    refused(saved, "was written before coterie 1.0, which cannot read such files; fit the model again$")


def test_truncations(saved):
    whole = saved.read_bytes()
    for size in [*range(64), *range(64, len(whole), 5), len(whole) - 1]:
        saved.write_bytes(whole[:size])
        refused(saved, "is not a complete coterie model")
    saved.write_bytes(whole + b"\0")
    refused(saved, "is not a complete coterie model")


def test_every_altered_byte(saved):
    whole = saved.read_bytes()
    for place in range(len(whole)):
        saved.write_bytes(whole[:place] + bytes([whole[place] ^ (1 << place % 8)]) + whole[place + 1 :])
        refused(saved, "is not a|was altered|has format")
    saved.write_bytes(whole)
    ct.load(saved)


def test_files_that_are_something_else(tmp_path):
    other, arrays = tmp_path / "other", {"weights": np.zeros(3)}
    foreign = "is not a coterie model: it is another kind of safetensors file"
    ours = {"format": persistence.FORMAT}
    for metadata, message in ((None, foreign), ({"format": "pt"}, foreign), (ours, "was altered")):
        other.write_bytes(pack(arrays, metadata))
        refused(other, message)
    for blob in (b"", b"PAR1", b"\xff" * 100, json.dumps({"a": 1}).encode(), pickle.dumps([1, 2, 3])):
        other.write_bytes(blob)
        refused(other, "is not a complete coterie model")
    refused(tmp_path / "nowhere" / "model", "there is no file", FileNotFoundError)
    with pytest.raises(FileNotFoundError, match=r"directory: '.*nowhere'$"):
        ct.MultitaskPerceptron().fit([[1.0], [2.0]], [0, 1]).save(tmp_path / "nowhere" / "model")
    refused(tmp_path, "is not a coterie model: it is a folder$")
    os.mkfifo(tmp_path / "pipe")
    for place in (tmp_path / "pipe", Path("/dev/zero")):
        refused(place, "is not a coterie model: it is a pipe or a device, and a model is read from several places$")


def test_a_class_or_part_that_is_not_known(saved):
    spec = msgspec.json.decode(persistence._read(saved)[0]["spec"])
    rewritten(saved, spec=json.dumps(spec | {"class": "os.system"}))
    refused(saved, "contains a os.system, which this version of coterie does not support")
    quantum = {"$part": "Quantum", "fields": {}}, "unknown part 'Quantum': this version supports"
    for relation, message in (quantum, ({"$eval": "1"}, r"unknown JSON tag '\$eval'")):
        rewritten(saved, spec=json.dumps(spec | {"parameters": {"$dict": [["relation", relation]]}}))
        refused(saved, message)


def test_nothing_in_a_file_is_run(saved, tmp_path):
    """A file made with all care, checksum included, to name what would do harm if it were looked up or unpickled."""
    mark = tmp_path / "harm"
    harm = f"__import__('pathlib').Path({str(mark)!r}).touch()"
    spec = msgspec.json.decode(persistence._read(saved)[0]["spec"])
    for value in (
        {"$part": harm, "fields": {}},
        {"$part": "MeanRegularized", "fields": {harm: 1}},
        {"$part": "MeanRegularized", "fields": {"b": harm}},
        {"$array": "AAAA", "dtype": "O", "shape": [1]},
        {"$float": harm},
        {"$datetime": harm},
    ):
        rewritten(saved, spec=json.dumps(spec | {"parameters": {"$dict": [["relation", value]]}}))
        with pytest.raises((ValueError, TypeError)):
            ct.load(saved)
    assert not mark.exists()


# -- writing -----------------------------------------------------------------------------------------------------------


def test_a_link_stays_one_and_what_is_no_file_is_not_replaced(tmp_path):
    model, link = ct.MultitaskPerceptron(), tmp_path / "link.coterie"
    link.symlink_to(tmp_path / "model.coterie")
    model.save(link)
    assert link.is_symlink()
    assert ct.load(tmp_path / "model.coterie").get_params() == model.get_params()
    if Path("/dev/full").exists():
        with pytest.raises(OSError, match="is not a regular file"):
            model.save("/dev/full")
        assert Path("/dev/full").is_char_device()


def test_zeros_take_no_room(path):
    model = ct.AdaptiveSharingClassifier(storage="dense")
    rows = sp.csr_array((np.ones(8), ([0, 0, 0, 0, 1, 1, 1, 1], [0, 3, 99_998, 99_999, 0, 4, 5, 6])), (2, 100_000))
    model.partial_fit(rows, [1, 0], task=["a", "b"]).save(path)
    assert path.stat().st_size < 100_000

    assert digest(ct.load(path)) == digest(model)


def test_thin_arrays_come_back_bit_for_bit():
    arrays = {name: np.zeros((2, 1024), name) for name in ("float64", "float32", "int64", "int32", "uint8", "bool")}
    arrays["float64"][0, 3], arrays["float64"][1, 1023] = -0.0, np.nan
    for array in arrays.values():
        array[1, 5] = 1
    thinned = persistence._thinned(arrays)
    assert sum(array.nbytes for array in thinned.values()) < 400
    for name, array in persistence._filled(thinned).items():
        assert array.tobytes() == arrays[name].tobytes()
        assert array.shape == arrays[name].shape


SHORT = linear_stream(17, n=120, zeros=0.4)


# -- what is in a file -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [SparsePairs, slow(Sparse)])
def test_of_a_sparse_table_the_weights_are_saved_and_not_how_they_came(kind):
    rng = np.random.default_rng(3)
    weights = rng.standard_normal((7, 40, kind.numbers)) * (rng.random((7, 40, 1)) < 0.4)
    weights[2] = 0.0
    weights[3, 5, -1] = -0.0 if kind is Sparse else 1.0  # not zero bit for bit, and zero beside something
    table = kind.from_entries(weights)
    one, other = table.to_saved(7, 40), table.make_room(np.arange(7), 30).fit_rows(50).to_saved(7, 40)
    assert one.keys() == other.keys() == {*kind._fields, "room"}
    for name, array in one.items():
        np.testing.assert_array_equal(array, other[name], strict=True)
    np.testing.assert_array_equal(kind.from_saved(one).rows(7, 40), weights[:, :, 0])
    assert not np.shares_memory(one["features"], table.features)


def test_a_file_is_one_that_safetensors_opens(path):
    """The library writes such files, too, but wants all of one in memory as bytes."""
    model = ct.MultitaskPerceptron(average=True).fit(SHORT.X, SHORT.y, SHORT.task)
    model.save(path)
    with safe_open(path, framework="numpy") as file:
        assert file.metadata()["format"] == persistence.FORMAT
        saved_arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - it is no dictionary
    _, arrays = model.__dump__()
    assert set(arrays) | {"document"} == set(saved_arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(saved_arrays[name], array, strict=True)
    raw = path.read_bytes()
    size = int.from_bytes(raw[:8], "little")
    assert size % 8 == 0
    offsets = [entry["data_offsets"] for entry in json.loads(raw[8 : 8 + size]).values() if "data_offsets" in entry]
    assert [begin for begin, _ in sorted(offsets)] == [0, *sorted(end for _, end in offsets)][:-1]
    assert max(end for _, end in offsets) == len(raw) - 8 - size


def recorded(record_call, name, function):
    def called(*arguments):
        record_call(name)
        return function(*arguments)

    return called


# -- nobody waits for the disk -----------------------------------------------------------------------------------------


def test_the_lock_is_held_while_the_model_is_copied_only(path, monkeypatch):
    model = ct.MultitaskPerceptron().fit(SHORT.X, SHORT.y, SHORT.task)
    lock, seen = model.__stream_model__().lock, []

    def is_free():
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(lambda: lock.acquire(timeout=5) and (lock.release() or True)).result()

    for owner, name in ((persistence, "_checksum"), (persistence, "_thinned"), (persistence, "_write"), (os, "fsync")):
        called = recorded(lambda name: seen.append((name, is_free())), name, getattr(owner, name))
        monkeypatch.setattr(owner, name, called)
    model.save(path)
    assert {name for name, _ in seen} == {"_checksum", "_thinned", "_write", "fsync"}
    assert all(free for _, free in seen)


@pytest.mark.slow
def test_memory_is_bounded_by_the_copy(path):
    """In a process of its own, whose largest size ever is looked at."""
    code = (
        "import resource, sys, numpy as np, coterie as ct\n"
        "model = ct.MultitaskPerceptron()\n"
        "model.partial_fit(np.ones((2, 4096)), [0, 1], tasks=list(range(3000)))\n"
        "model.state_.model.tasks.values[:] = 1.5\n"
        "model.save(sys.argv[1])\n"  # what is imported for that is there then
        "most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "del model\n"
        "model = ct.load(sys.argv[1])\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "print(model.memory_, (most - int(sys.argv[2])) * 1024)\n"
    )
    baseline = "import resource, numpy, coterie as ct; ct.MultitaskPerceptron().partial_fit(numpy.ones((2, 4096)), [0, 1]).save(__import__('sys').argv[1]); print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    empty = subprocess.run([sys.executable, "-c", baseline, path], capture_output=True, text=True, check=True)
    program = [sys.executable, "-c", code, path, empty.stdout.strip()]
    memory, most = map(int, subprocess.run(program, capture_output=True, text=True, check=True).stdout.split())
    assert memory > 95e6
    assert most < 2.3 * memory  # the model and its copy


# -- whatever fails ----------------------------------------------------------------------------------------------------


class Faults:
    """Every call by which a file is written, and the n-th of them failing after it was half done, as disks do."""

    def __init__(self, monkeypatch):
        self.calls, self.fails = [], None
        self.open, self.fdopen = os.open, os.fdopen
        for owner, name in ((os, "open"), (os, "fchmod"), (os, "fsync"), (Path, "replace")):
            monkeypatch.setattr(owner, name, recorded(self.record_call, name, getattr(owner, name)))
        monkeypatch.setattr(os, "fdopen", lambda *arguments: FaultyFile(self, self.fdopen(*arguments)))

    def begin(self, fails):
        self.calls, self.fails = [], fails

    def record_call(self, name):
        self.calls.append(name)
        if self.fails is not None and len(self.calls) == self.fails + 1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class FaultyFile:
    def __init__(self, faults, file):
        self.faults, self.file = faults, file

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()
        self.faults.record_call("close")

    def fileno(self):
        return self.file.fileno()

    def flush(self):
        self.file.flush()
        self.faults.record_call("flush")

    def write(self, content):
        self.file.write(memoryview(content)[: len(content) // 2])
        self.faults.record_call("write")
        return self.file.write(memoryview(content)[len(content) // 2 :])


def test_each_call_in_turn_fails_and_the_file_is_whole(path, monkeypatch):
    old = ct.MultitaskPerceptron().fit(SHORT.X, SHORT.y, SHORT.task)
    model = ct.MultitaskPerceptron(average=True).fit(SHORT.X, SHORT.y, SHORT.task)
    new, before = content(model, path), content(old, path)
    faults = Faults(monkeypatch)
    model.save(path)
    names = faults.calls
    assert path.read_bytes() == new
    assert set(names) == {"open", "fchmod", "write", "flush", "fsync", "close", "replace"}
    assert (names.count("write") > 5, names.count("fsync")) == (True, 2)
    renamed = names.index("replace")
    for fails in range(len(names)):
        path.write_bytes(before)
        faults.begin(fails)
        with pytest.raises(OSError, match="No space left on device"):
            model.save(path)
        assert path.read_bytes() == (before if fails <= renamed else new)
        assert [entry.name for entry in path.parent.iterdir()] == [path.name]
    faults.begin(None)
    model.partial_fit(SHORT.X, SHORT.y, SHORT.task)
    model.save(path)
    assert path.read_bytes() == content(copy.deepcopy(model), path) != new


def save_again_and_again(models, path, largest_file):
    """End, as if killed, within the write that makes a file larger than this."""
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))
    while True:
        for model in models:
            model.save(path)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
def test_a_process_that_is_killed_while_it_saves_leaves_a_whole_file(path):
    """At some byte or at some moment in turn, as often as COTERIE_KILLS says."""
    rng, models, contents = np.random.default_rng(0), [], []
    for _ in range(2):
        models.append(ct.MultitaskPerceptron())
        models[-1].partial_fit(rng.standard_normal((40, 2000)), np.arange(40) % 2, np.arange(40))
        begin = time.perf_counter()
        contents.append(content(models[-1], path))
    seconds = time.perf_counter() - begin
    for kill in range(int(os.environ.get("COTERIE_KILLS", "12"))):
        at_a_byte = kill % 2 == 0
        largest_file = int(rng.integers(1, len(contents[0]))) if at_a_byte else resource.RLIM_INFINITY
        process = fork(save_again_and_again, models, path, largest_file)
        if not at_a_byte:
            time.sleep(4.0 * seconds * rng.random())
            process.kill()
        assert process.wait() == -(signal.SIGXFSZ if at_a_byte else signal.SIGKILL)
        assert path.read_bytes() in contents
        ct.load(path)
        partial_files = set(path.parent.iterdir()) - {path}
        assert len(partial_files) == 1 or not at_a_byte
        for other in partial_files:
            assert other.name.startswith(f".{path.name}."), other
            other.unlink()


@pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
def test_permissions_are_those_of_the_process_or_of_the_file_before(path, monkeypatch):
    """Found without setting the umask, which is that of all threads."""
    before = os.umask(0o027)
    monkeypatch.setattr(os, "umask", lambda mask: pytest.fail("the umask is that of all threads"))
    try:
        for mode in (0o640, 0o604):
            ct.MultitaskPerceptron().save(path)
            assert path.stat().st_mode & 0o777 == mode
            path.chmod(0o604)
    finally:
        monkeypatch.undo()
        os.umask(before)
