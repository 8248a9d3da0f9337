"""Files by URL are read as files of this machine are: the same records, found by patterns, refused in a sentence."""

import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from unittest.mock import Mock

import pytest

import coterie as ct
from coterie.data import sources, urls
from coterie.data.errors import InputError
from coterie.data.formats.delimited import CsvTable
from coterie.data.readers import read
from terminal import QUICK, WHO, refused, rows, run, run_json, write_csv
from test_readers import RECORDS, TABLES, compress, whole, write

fsspec = pytest.importorskip("fsspec", reason="needs fsspec: pip install 'coterie[test]'")
ROLES = {"label": "click", "task": "user"}


@pytest.fixture
def memory():
    """The file system to which memory:// leads."""
    system = fsspec.filesystem("memory")
    yield system
    system.rm("/", recursive=True)


def refusal(source, **options):
    with pytest.raises(InputError) as raised:
        list(read(source, **ROLES, **options))
    return str(raised.value)


# -- what is read


def test_a_url_of_every_format_is_read_as_the_file_is(memory, tmp_path):
    paths = [write(tmp_path, kind, RECORDS) for kind in TABLES]
    paths += [compress(path, suffix) for path, suffix in zip(paths[:4], (".gz", ".zst", ".bz2", ".gz"), strict=True)]
    for path in paths:
        memory.pipe(f"/days/{path.name}", path.read_bytes())
        here, there = (read(source, bits=12, **ROLES) for source in (path, f"memory://days/{path.name}"))
        for of_file, of_url in zip(whole(here), whole(there), strict=True):
            assert of_file.tolist() == of_url.tolist(), path.name
        assert there.bytes_total == here.bytes_total == path.stat().st_size
        assert there.bytes_read == here.bytes_read
        assert there.paths == (f"memory://days/{path.name}",)


def test_patterns_find_files_by_url(memory):
    for name in ("a.csv", "b.csv", "week [1].csv", "c d.csv", "2024/a.csv", "2024/05/a.csv"):
        memory.pipe(f"/days/{name}", b"x")
    for pattern, names in {
        "[ab].csv": ["a.csv", "b.csv"],
        "*.csv": ["a.csv", "b.csv", "c d.csv", "week [1].csv"],
        "*/a.csv": ["2024/a.csv"],
        "2024/**": ["2024/05/a.csv", "2024/a.csv"],
        "week [1].csv": ["week [1].csv"],
        "c d.csv": ["c d.csv"],
    }.items():
        paths = sources.find_paths(f"memory://days/{pattern}")
        assert paths == [f"memory://days/{name}" for name in names], pattern
        assert sources.total_size(paths) == len(names)
    assert sources.find_paths(Path("memory://days/a.csv")) == ["memory://days/a.csv"]  # a path takes a slash from a URL


# -- what changed


def test_a_fingerprint_tells_that_a_file_was_changed(memory, tmp_path):
    memory.pipe("/a.csv", b"user,click\n")
    before = sources.fingerprint("memory://a.csv")
    assert before == sources.fingerprint("memory://a.csv")
    assert (before.size, abs(before.modified / 1e9 - time.time()) < 1000) == (11, True)
    memory.pipe("/a.csv", b"user,click\nann,1\n")
    assert sources.fingerprint("memory://a.csv") != before
    with pytest.raises(InputError, match=r"^memory://none\.csv: does not exist$"):
        sources.fingerprint("memory://none.csv")


@pytest.mark.parametrize("kind", ["csv", "parquet", "csv.gz"])
def test_a_file_changed_while_it_is_read_is_refused(memory, tmp_path, kind):
    path = write(tmp_path, kind.removesuffix(".gz"), RECORDS)
    data = (compress(path, ".gz") if kind.endswith("gz") else path).read_bytes()
    memory.pipe(f"/a.{kind}", data)
    blocks = iter(read(f"memory://a.{kind}", block_rows=20, **ROLES))
    next(blocks)
    memory.pipe(f"/a.{kind}", data + b"\1")
    with pytest.raises(InputError) as raised:
        list(blocks)
    assert str(raised.value) == f"memory://a.{kind}: was changed while it was read: read it again"


# -- what is refused

SECRECY = (
    "contains a password or a key, which messages and reports would show; leave it out, and set it in the environment "
    "or in the store's configuration file"
)
REFUSED = {
    "memory://a.csv": "memory://a.csv: is empty: expected a header line",
    "memory://a.parquet": "memory://a.parquet: cannot be read: Parquet magic bytes not found",
    "memory://b.csv": "memory://b.csv:2: the line has 1 field, the header 3",
    "memory://a.csv.gz": "memory://a.csv.gz: is not gzip data, although its extension says so",
    "memory://none.csv": "memory://none.csv: does not exist",
    "memory://days": "memory://days: is a folder; expected a file, or a pattern such as folder/*.parquet",
    "memory://none/*.csv": "memory://none/*.csv: no file matches this pattern",
    "nothing://a.csv": "nothing://a.csv: cannot be read: Protocol not known: nothing",
    "s3://me:sec/ret@logs/a.csv": f"s3://…: {SECRECY}",
    "https://example.org/a.csv?X-Amz-Signature=x": f"https://…: {SECRECY}",
    "abfs://logs@mine.dfs.core.windows.net/a.csv?client_secret=x": f"abfs://…: {SECRECY}",
}


@pytest.mark.parametrize("url", REFUSED)
def test_what_cannot_be_read_is_told_in_one_sentence(memory, url):
    for name, data in {"days/a.csv": b"", "a.csv": b"", "a.parquet": b"no such thing", "a.csv.gz": b"user"}.items():
        memory.pipe(f"/{name}", data)
    memory.pipe("/b.csv", b"user,click,price\nann\n")
    form = {} if "a.parquet" in url or "a.csv.gz" in url else {"format": "csv"}
    assert refusal(url, **form).startswith(REFUSED[url])


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (PermissionError("Access Denied"), "may not be read with the credentials of this environment (Access Denied)"),
        (RuntimeError("Could not connect\nat length"), "cannot be read: Could not connect"),
        (TimeoutError(), "cannot be read: TimeoutError"),
        (OSError(16, "another ETag"), "was changed while it was read: read it again"),
    ],
)
def test_errors_of_a_store_are_told_in_one_sentence(memory, monkeypatch, error, sentence):
    memory.pipe("/a.csv", b"user,click,price\nann,1,2\n")
    for verb in ("info", "open"):
        with monkeypatch.context() as patched:
            patched.setattr(type(memory), verb, Mock(side_effect=error))
            assert refusal("memory://a.csv") == f"memory://a.csv: {sentence}"


def test_what_a_web_server_answered_is_told():
    pytest.importorskip("aiohttp", reason="needs aiohttp, fsspec's reader of the web")

    class Handler(BaseHTTPRequestHandler):
        do_GET, log_message = (lambda self: self.send_error(int(self.path[1:4]))), Mock()  # noqa: N815

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        for status, sentence in {404: "does not exist", 403: "answered 403 Forbidden", 500: "answered 500 I"}.items():
            assert sentence in refusal(f"http://127.0.0.1:{server.server_port}/{status}.csv")
        server.shutdown()
    assert "cannot be read: Cannot connect" in refusal(f"http://127.0.0.1:{server.server_port}/a.csv")


def test_a_bug_of_the_reader_is_not_told_as_a_fault_of_the_file(memory, monkeypatch):
    memory.pipe("/a.csv", b"user,click,price\nann,1,2\n")
    monkeypatch.setattr(CsvTable, "kinds", Mock(side_effect=KeyError("a bug")))
    with pytest.raises(KeyError, match="a bug"):
        list(ct.read("memory://a.csv", label="click", task="user"))


# -- commands


def test_commands_read_urls_as_they_read_files(memory, tmp_path):
    path = write_csv(tmp_path / "visits.csv", rows())
    memory.pipe("/days/visits.csv", path.read_bytes())
    here, there = tmp_path / "here.coterie", tmp_path / "there.coterie"
    run("learn", path, *WHO, *QUICK, "--output", here, "-q")
    result = run_json("learn", "memory://days/*.csv", *WHO, *QUICK, "--output", there)
    assert result["reading"]["source"] == "memory://days/visits.csv"
    assert here.read_bytes() == there.read_bytes()
    result = [run("predict", here, source).stdout for source in ("memory://days/visits.csv", path)]
    assert result[0] == result[1]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (("learn", "a.csv", *WHO, "--output", "s3://logs/m.coterie"), "--output: 's3://logs/m.coterie'"),
        (("learn", "a.csv", *WHO, "--report", "gs://logs/r.html"), "--report: 'gs://logs/r.html'"),
        (("learn", "a.csv", "--from", "s3://logs/m.coterie", "--output", "m"), "'s3://logs/m.coterie'"),
        (("predict", "s3://logs/m.coterie", "a.csv"), "'s3://logs/m.coterie'"),
    ],
)
def test_only_records_are_read_from_a_store_and_nothing_is_written_there(working_folder, command, message):
    write_csv(Path("a.csv"), rows(20))
    why = "is a URL, which is supported only for records; use a local path, and copy it to or from the store"
    assert refused(*command).endswith(f"{message} {why}")
    assert [path.name for path in working_folder.iterdir()] == ["a.csv"]


def test_models_and_services_are_kept_here():
    from coterie.server.service import Service

    model = ct.MultitaskPerceptron()
    for use in (model.save, ct.load, lambda folder: Service(folder, model)):
        with pytest.raises(ValueError, match=r"^'s3://models/m\.coterie' is a URL, .* supported only for records; "):
            use(Path("s3://models/m.coterie"))


# -- S3


@pytest.fixture
def s3(monkeypatch):
    """The file system to which s3:// leads, with an empty bucket ``logs``."""
    server = pytest.importorskip("moto.server", reason="needs moto, a server of S3: pip install 'coterie[dev]'")
    s3fs = pytest.importorskip("s3fs", reason="needs s3fs: pip install 'coterie[s3]'")
    served = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    served.start()
    try:
        host, port = served.get_host_and_port()
        keys = {"ACCESS_KEY_ID": "nobody", "SECRET_ACCESS_KEY": "nothing", "DEFAULT_REGION": "us-east-1"}
        for name, value in (keys | {"ENDPOINT_URL": f"http://{host}:{port}"}).items():
            monkeypatch.setenv(f"AWS_{name}", value)
        s3fs.S3FileSystem.clear_instance_cache()
        system = fsspec.filesystem("s3")
        system.mkdir("logs")
        yield system
    finally:
        s3fs.S3FileSystem.clear_instance_cache()
        served.stop()


@pytest.mark.slow
def test_a_server_of_s3_gives_the_same(s3, monkeypatch, tmp_path):
    for kind in ("csv", "parquet", "jsonl"):
        path = write(tmp_path, kind, RECORDS)
        s3.pipe(f"logs/days/2026/{path.name}", path.read_bytes())
        for pattern in (f"days/2026/*.{kind}", f"**/*.{kind}", f"days/2026/data.{kind}"):
            reader = read(f"s3://logs/{pattern}", bits=12, **ROLES)
            for here, there in zip(whole(read(path, bits=12, **ROLES)), whole(reader), strict=True):
                assert here.tolist() == there.tolist()
            assert reader.bytes_total == path.stat().st_size
    assert sources.fingerprint("s3://logs/days/2026/data.csv").size == (tmp_path / "data.csv").stat().st_size
    assert refusal("s3://logs/none.csv") == "s3://logs/none.csv: does not exist"
    assert refusal("s3://none/a.csv") == "s3://none/a.csv: does not exist"
    assert refusal("s3://logs/days", format="csv").startswith("s3://logs/days: is a folder")
    # a long text, in pieces, of which a later one is of another object
    text = b"user,click,price,note\n" + b"".join(b"u%d,%d,1,%s\n" % (i % 3, i % 2, b"x" * 90) for i in range(100_000))
    monkeypatch.setattr(urls, "PIECE_BYTES", 5 << 20)
    s3.pipe("logs/long.csv", text)
    assert sum(map(len, read("s3://logs/long.csv", ignore="note", **ROLES))) == 100_000
    blocks = iter(read("s3://logs/long.csv", ignore="note", **ROLES))
    next(blocks)
    s3.pipe("logs/long.csv", text.replace(b"x", b"y"))
    with pytest.raises(InputError, match=r"^s3://logs/long\.csv: was changed while it was read: read it again$"):
        list(blocks)
