"""Tests marked ``data`` need the real data sets."""

import os

import pytest


def pytest_runtest_setup(item):
    """Skip tests of data sets that are not here."""
    if item.get_closest_marker("data") and "COTERIE_DATA" not in os.environ:
        pytest.skip("COTERIE_DATA is not set")
