"""Settings and fixtures that the tests share."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import pytest
from hypothesis import settings

# Most of the time goes by in compiling, a fifth of it in looking for garbage among millions of objects in use.
gc.set_threshold(100_000, 20, 50)

# The same examples on every machine and in every run; `pytest --hypothesis-profile=search` looks for new ones.
settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
settings.register_profile("search", deadline=None, max_examples=1000)
settings.load_profile("repeatable")


@pytest.fixture(scope="session")
def data_folder():
    """The folder with the real data sets; the test is skipped where there is none."""
    if "COTERIE_DATA" not in os.environ:
        pytest.skip("COTERIE_DATA is not set")
    return Path(os.environ["COTERIE_DATA"])


@pytest.fixture
def small_dense_tables(monkeypatch):
    """Lets "auto" keep no more than so many bytes densely: call it with their number."""
    from coterie.hypotheses import tables

    return lambda limit: monkeypatch.setattr(tables, "DENSE_LIMIT", limit)
