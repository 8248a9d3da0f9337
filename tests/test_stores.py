"""Objects of stores are read as files are: the same records, found by the same patterns, refused as clearly."""

import gzip
import os
import time
from pathlib import Path

import pytest

import coterie as ct
from coterie.inputs.errors import InputError
from coterie.io import sources, stores
from coterie.io.readers import read
from object_store import CLOSED, ObjectStore
from terminal import QUICK, WHO, refused, rows, run, run_json, write_csv
from test_readers import RECORDS, TABLES, compress, whole, write

ROLES = {"label": "click", "task": "user"}


def led_to(endpoint, monkeypatch):
    """Let s3:// lead to a store."""
    keys = {"ACCESS_KEY_ID": "nobody", "SECRET_ACCESS_KEY": "nothing", "REGION": "us-east-1"}
    for name, value in (keys | {"ENDPOINT_URL": endpoint, "EC2_METADATA_DISABLED": "true"}).items():
        monkeypatch.setenv(f"AWS_{name}", value)
    stores._file_system.cache_clear()


@pytest.fixture
def store(monkeypatch):
    """A store to which s3:// leads; put objects into the bucket ``logs``."""
    with ObjectStore() as served:
        led_to(served.endpoint, monkeypatch)
        served.buckets["logs"] = {}
        yield served
    stores._file_system.cache_clear()


@pytest.fixture
def objects(store):
    return store.buckets["logs"]


def refusal(source, **options):
    with pytest.raises(InputError) as raised:
        list(read(source, **ROLES, **options))
    return str(raised.value)


# -- what is read


def test_an_object_of_every_format_is_read_as_the_file_is(objects, tmp_path):
    paths = [write(tmp_path, kind, RECORDS) for kind in TABLES]
    paths += [compress(path, suffix) for path, suffix in zip(paths[:4], (".gz", ".zst", ".bz2", ".gz"), strict=True)]
    for path in paths:
        objects[f"days/{path.name}"] = path.read_bytes()
        here, there = (read(each, bits=12, **ROLES) for each in (path, f"s3://logs/days/{path.name}"))
        for of_file, of_object in zip(whole(here), whole(there), strict=True):
            assert of_file.tolist() == of_object.tolist(), path.name
        assert there.bytes_total == here.bytes_total == path.stat().st_size
        assert there.bytes_read == here.bytes_read
        assert there.paths == (f"s3://logs/days/{path.name}",)


def test_parquet_is_read_where_it_is_wanted_and_not_as_a_whole(store, objects, tmp_path):
    records = [each | {"title": f"{i} " + os.urandom(2000).hex()} for i, each in enumerate(RECORDS)]
    path = write(tmp_path, "parquet", records)
    objects["long.parquet"] = path.read_bytes()
    reader = read("s3://logs/long.parquet", ignore="title", **ROLES)
    assert sum(map(len, reader)) == len(RECORDS)
    spans = [each.rpartition("bytes=")[2].split("-") for each in store.asked if "bytes=" in each]
    read_there = sum(int(last) - int(first) + 1 for first, last in spans)
    assert 0 < read_there < path.stat().st_size / 2


def test_a_long_text_is_read_in_large_pieces(store, objects, monkeypatch):
    monkeypatch.setattr(stores, "PIECE_BYTES", 1 << 20)
    text = b"user,click,price,note\n" + b"".join(b"u%d,%d,1,%s\n" % (i % 3, i % 2, b"x" * 90) for i in range(30_000))
    objects["long.csv.gz"] = gzip.compress(text, 0)
    assert sum(map(len, read("s3://logs/long.csv.gz", ignore="note", **ROLES))) == 30_000
    pieces = [each for each in store.asked if "bytes=" in each]
    assert 3 <= len(pieces) <= 6


def test_a_url_of_a_file_is_the_file(tmp_path):
    folder = tmp_path / "my logs"
    folder.mkdir()
    path = write(folder, "csv", RECORDS)
    for url in (path.as_uri(), f"file://localhost{folder}/*.csv", f"file:{folder}/data.csv"):
        assert sources.find_paths(url) == [str(path)]
    assert sources.fingerprint(path.as_uri()) == sources.fingerprint(str(path))
    elsewhere = "file://elsewhere/data.csv"
    assert refusal(elsewhere) == f"{elsewhere}: names a file of another machine; expected file:///path"


def test_options_of_a_url_are_no_part_of_its_name(store, objects, monkeypatch):
    monkeypatch.delenv("AWS_ENDPOINT_URL")
    objects["a.csv"] = objects["b.csv"] = b"user,click,price\nann,1,2\n"
    options = "?scheme=http&region=us-east-1&endpoint_override=" + store.endpoint.removeprefix("http://")
    assert sum(map(len, read(f"s3://logs/a.csv{options}", **ROLES))) == 1
    assert sources.find_paths(f"s3://logs/*.csv{options}") == [f"s3://logs/{name}.csv{options}" for name in "ab"]


# -- which are found


TREE = (
    *("a.csv", "b.csv", "b.csv.gz", "c d.csv", "p%20q.csv", "week [1].csv", ".hidden.csv"),
    *("2024/a.csv", "2024/05/a.csv", "2024/05/b.pq", ".old/a.csv"),
)
PATTERNS = (
    *("*.csv", "[ab].csv", "?.csv", "week [[]1].csv", ".*.csv", "*/a.csv", "*/*/*", "20*/05/a.*"),
    *("**", "**/*.csv", "2024/**", "**/05/*", "2024/**/a.csv", "**/**/b.*", "week [1].csv", "c d.csv", "p%20q.csv"),
)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_finds_objects_as_it_finds_files(objects, tmp_path, pattern):
    for name in TREE:
        objects[f"days/{name}"] = b"x"
        (tmp_path / "days" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "days" / name).write_text("x")
    here = [Path(each).relative_to(tmp_path) for each in sources.find_paths(str(tmp_path / "days" / pattern))]
    there = sources.find_paths(f"s3://logs/days/{pattern}")
    assert there == [f"s3://logs/{each.as_posix()}" for each in here]
    assert there
    assert sources.total_size(there) == len(there)


def test_files_and_objects_are_one_stream(objects, tmp_path):
    path = write(tmp_path, "csv", RECORDS)
    objects["days/data.csv"] = path.read_bytes()
    for url in ("s3://logs/days/data.csv", Path("s3://logs/days/data.csv")):  # a path takes a slash from a URL
        both = read([path, url], **ROLES)
        assert sum(map(len, both)) == 2 * len(RECORDS)
        assert both.bytes_total == both.bytes_read == 2 * path.stat().st_size


def test_of_many_objects_the_folder_is_asked_for_their_sizes(store, objects):
    objects |= {f"days/{i:02}.csv": bytes(i) for i in range(40)}
    found = sources.find_paths("s3://logs/days/*.csv")
    store.asked.clear()
    assert sources.total_size(found) == sum(range(40))
    assert len(store.asked) < 5
    assert sources.total_size([*found, "s3://logs/days/40.csv"]) is None
    assert sources.total_size(["s3://logs/40.csv"]) is None


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("s3://logs/days/a.csv?region=eu-west-1", "logs/days/a.csv"),
        ("gs://anonymous@logs/days/a.csv", "logs/days/a.csv"),
        ("abfs://logs@mine.dfs.core.windows.net/days/a.csv", "logs/days/a.csv"),
        ("abfs://mine.blob.core.windows.net/logs/days/a.csv", "logs/days/a.csv"),
    ],
)
def test_each_kind_of_store_has_its_paths(url, path):
    assert stores._located(url).path == path


# -- what changed


def test_a_fingerprint_tells_that_a_file_was_changed(objects, tmp_path):
    path = tmp_path / "a.csv"
    objects["a.csv"] = b"user,click\n"
    path.write_text("user,click\n")
    os.utime(path, ns=(0, 1_750_000_000 * 10**9))
    assert sources.fingerprint("s3://logs/a.csv") == sources.fingerprint(str(path)) == (11, 1_750_000_000 * 10**9)
    objects["a.csv"] += b"ann,1\n"
    assert sources.fingerprint("s3://logs/a.csv").size == 17


def test_what_has_no_fingerprint_is_refused(objects, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path, message in {
        "s3://logs/none.csv": "s3://logs/none.csv: does not exist",
        str(tmp_path / "none.csv"): f"{tmp_path}/none.csv: cannot be read: No such file or directory",
        str(tmp_path / "pipe"): f"{tmp_path}/pipe: is no regular file, of which a size and a time are known",
    }.items():
        with pytest.raises(InputError) as raised:
            sources.fingerprint(path)
        assert str(raised.value) == message


@pytest.mark.parametrize("kind", ["csv", "parquet", "csv.gz"])
def test_an_object_changed_while_it_is_read_is_refused(objects, tmp_path, kind):
    path = write(tmp_path, kind.removesuffix(".gz"), RECORDS)
    data = (compress(path, ".gz") if kind.endswith("gz") else path).read_bytes()
    objects[f"a.{kind}"] = data
    blocks = iter(read(f"s3://logs/a.{kind}", block_rows=20, **ROLES))
    next(blocks)
    objects[f"a.{kind}"] = data[:-1] + b"\1"
    with pytest.raises(InputError) as raised:
        list(blocks)
    assert str(raised.value) == f"s3://logs/a.{kind}: was changed while it was read: read it again"


def test_an_object_removed_while_it_is_read_is_refused(objects):
    objects["a.csv"] = b"user,click,price\nann,1,2\nbob,0,2\n"
    blocks = iter(read("s3://logs/a.csv", block_rows=1, **ROLES))
    next(blocks)
    del objects["a.csv"]
    with pytest.raises(InputError, match=r"^s3://logs/a\.csv: does not exist$"):
        list(blocks)


# -- what is refused

EXPECTED = "expected s3://bucket/key, gs://bucket/key, abfs://container@account.dfs.core.windows.net/key or a path"
SECRECY = (
    "holds a password or a key, which messages and reports would show: leave it out, and set it in the environment or "
    "in the store's configuration file"
)
DENIED = "may not be read with the credentials of this environment (AWS Error ACCESS_DENIED)"
REFUSED = {
    "s3://logs/a.csv": "s3://logs/a.csv: is empty: expected a header line",
    "s3://logs/a.parquet": "s3://logs/a.parquet: cannot be read: Parquet magic bytes not found",
    "s3://logs/b.csv": "s3://logs/b.csv:2: the line has 1 field, the header 3",
    "s3://logs/a.csv.gz": "s3://logs/a.csv.gz: is not gzip data, though its name says so",
    "s3://logs/none.csv": "s3://logs/none.csv: does not exist",
    "s3://logs/days": "s3://logs/days: is a folder; expected an object, or a pattern such as folder/*.parquet",
    "s3://logs": "s3://logs: is a folder; expected an object, or a pattern such as folder/*.parquet",
    "s3://logs/none/*.csv": "s3://logs/none/*.csv: no object matches this pattern",
    "s3://nowhere/a.csv": "s3://nowhere/a.csv: there is no bucket 's3://nowhere'",
    "s3://nowhere/*.csv": "s3://nowhere/*.csv: there is no bucket 's3://nowhere'",
    f"s3://{CLOSED}/a.csv": f"s3://{CLOSED}/a.csv: {DENIED}",
    f"s3://{CLOSED}/*.csv": f"s3://{CLOSED}/*.csv: {DENIED}",
    "https://example.org/a.csv": f"https://example.org: is a URL of a kind that is not read; {EXPECTED}",
    "s3://logs/a.csv?regoin=x": "s3://logs/a.csv?regoin=x: cannot be read: "
    "Unexpected query parameter in S3 URI: 'regoin'",
    "s3://me:sec/ret@logs/a.csv": f"s3://…: {SECRECY}",
    "abfs://logs@mine.dfs.core.windows.net/a.csv?client_secret=x": f"abfs://…: {SECRECY}",
}


@pytest.mark.parametrize("url", REFUSED)
def test_what_cannot_be_read_is_told_in_one_sentence(objects, url):
    objects |= {"days/a.csv": b"", "a.csv": b"", "a.parquet": b"no such thing", "a.csv.gz": b"user"}
    objects["b.csv"] = b"user,click,price\nann\n"
    form = {} if "a.parquet" in url or "a.csv.gz" in url else {"format": "csv"}
    assert refusal(url, **form).startswith(REFUSED[url])


AWAY, MAY_NOT = "cannot be read: its store does not answer", "may not be read with the credentials of this environment"
HEAD = "When reading information for key 'k' in bucket 'b': AWS Error NETWORK_CONNECTION during HeadObject operation: "
GOOGLE = "google::cloud::Status"
SAID = [
    (f"{HEAD}curlCode: 28, Timeout was reached", f"{AWAY} (AWS Error NETWORK_CONNECTION)"),
    (
        f"{GOOGLE}(UNAVAILABLE: Retry policy exhausted\nmore",
        f"{AWAY} ({GOOGLE}(UNAVAILABLE: Retry policy exhausted)",
    ),
    (f"{GOOGLE}(PERMISSION_DENIED: no access)", f"{MAY_NOT} ({GOOGLE}(PERMISSION_DENIED: no access))"),
    ("Corrupt snappy compressed data.", None),
]


@pytest.mark.parametrize(("told", "sentence"), SAID)
def test_what_the_libraries_of_stores_say_is_understood(told, sentence):
    assert stores._sentence(told) == sentence


@pytest.mark.slow
def test_a_store_that_is_not_there_is_given_up(store):
    store.__exit__()
    begun = time.monotonic()
    assert refusal("s3://logs/a.csv") == (
        "s3://logs/a.csv: cannot be read: its store does not answer (AWS Error NETWORK_CONNECTION)"
    )
    assert time.monotonic() - begun < 100


# -- commands


def test_commands_read_objects_as_they_read_files(objects, tmp_path):
    path = write_csv(tmp_path / "visits.csv", rows())
    objects["days/visits.csv"] = path.read_bytes()
    here, there = tmp_path / "here.coterie", tmp_path / "there.coterie"
    run("learn", path, *WHO, *QUICK, "--output", here, "-q")
    told = run_json("learn", "s3://logs/days/*.csv", *WHO, *QUICK, "--output", there)
    assert told["reading"]["source"] == "s3://logs/days/visits.csv"
    assert here.read_bytes() == there.read_bytes()
    told = [run("predict", here, source).stdout for source in ("s3://logs/days/visits.csv", path)]
    assert told[0] == told[1]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (("learn", "a.csv", *WHO, "--output", "s3://logs/m.coterie"), "--output: 's3://logs/m.coterie'"),
        (("learn", "a.csv", *WHO, "--report", "gs://logs/r.html"), "--report: 'gs://logs/r.html'"),
        (("learn", "a.csv", "--from", "s3://logs/m.coterie", "--output", "m"), "'s3://logs/m.coterie'"),
        (("predict", "s3://logs/m.coterie", "a.csv"), "'s3://logs/m.coterie'"),
        (("learn", "a.csv", *WHO, "--groups", "s3://logs/groups.csv"), "'s3://logs/groups.csv'"),
    ],
)
def test_only_records_are_read_from_a_store_and_nothing_is_written_there(tmp_path, monkeypatch, command, message):
    monkeypatch.chdir(tmp_path)
    write_csv(Path("a.csv"), rows(20))
    why = "is a URL, from which only records are read: name a path of this machine, and copy it to or from the store"
    assert refused(*command).endswith(f"{message} {why}")
    assert [each.name for each in tmp_path.iterdir()] == ["a.csv"]


def test_models_and_services_are_kept_here():
    from coterie.serve.service import Service

    model = ct.MultitaskPerceptron()
    for use in (model.save, ct.load, lambda folder: Service(folder, model)):
        with pytest.raises(ValueError, match=r"^'s3://models/m\.coterie' is a URL, from which only records are read: "):
            use(Path("s3://models/m.coterie"))


# -- a store by another hand


@pytest.mark.slow
def test_a_server_of_s3_by_others_gives_the_same(monkeypatch, tmp_path):
    server = pytest.importorskip("moto.server", reason="needs moto, a server of S3: pip install 'coterie[dev]'")
    from pyarrow import fs

    served = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    served.start()
    try:
        host, port = served.get_host_and_port()
        led_to(f"http://{host}:{port}", monkeypatch)
        s3, _ = fs.FileSystem.from_uri("s3://logs?allow_bucket_creation=true")
        s3.create_dir("logs")
        for kind in ("csv", "parquet", "jsonl"):
            path = write(tmp_path, kind, RECORDS)
            with s3.open_output_stream(f"logs/days/2026/{path.name}") as file:
                file.write(path.read_bytes())
            for pattern in (f"days/2026/*.{kind}", f"**/*.{kind}", f"days/2026/data.{kind}"):
                reader = read(f"s3://logs/{pattern}", bits=12, **ROLES)
                for here, there in zip(whole(read(path, bits=12, **ROLES)), whole(reader), strict=True):
                    assert here.tolist() == there.tolist()
                assert reader.bytes_total == path.stat().st_size
        found = s3.get_file_info("logs/days/2026/data.csv")
        assert sources.fingerprint("s3://logs/days/2026/data.csv") == (found.size, found.mtime_ns)
        assert refusal("s3://logs/none.csv") == "s3://logs/none.csv: does not exist"
        assert refusal("s3://none/a.csv") == "s3://none/a.csv: there is no bucket 's3://none'"
    finally:
        served.stop()
        stores._file_system.cache_clear()
