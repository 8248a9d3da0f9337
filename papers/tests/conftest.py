"""Tests of the papers want the folder of the data sets, and end when `tools/check` has no more time."""

import os
import time
from pathlib import Path

import pytest

UNTIL = float(os.environ.get("COTERIE_TESTS_UNTIL", "inf"))


def pytest_runtest_setup(item):
    if time.time() > UNTIL:
        pytest.skip("there was no time left")
    if item.get_closest_marker("data") and "COTERIE_DATA" not in os.environ:
        pytest.skip("COTERIE_DATA is not set")


@pytest.fixture(scope="session")
def data_folder():
    """The folder with the real data sets, for tests marked ``data``."""
    return Path(os.environ["COTERIE_DATA"])
