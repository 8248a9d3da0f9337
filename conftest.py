"""What tests of the package and of the papers share: the folder of data sets, and the end of their time."""

import os
import time
from collections import Counter
from pathlib import Path

import pytest

#: Seconds since 1970 after which no test begins; `tools/check` sets it where it has so much time and no more.
UNTIL = float(os.environ.get("COTERIE_TESTS_UNTIL", "inf"))
LATE = "there was no time left"


def pytest_runtest_setup(item):
    """Skip tests for which there is no time left or no data."""
    if time.time() > UNTIL:
        pytest.skip(LATE)
    if item.get_closest_marker("data") and "COTERIE_DATA" not in os.environ:
        pytest.skip("COTERIE_DATA is not set")


@pytest.fixture(scope="session")
def data_folder():
    """The folder with the real data sets, for tests marked ``data``."""
    return Path(os.environ["COTERIE_DATA"])


def pytest_terminal_summary(terminalreporter):
    """Tell how many tests of each name there was no time for."""
    reports = terminalreporter.stats.get("skipped", [])
    late = [report for report in reports if isinstance(report.longrepr, tuple) and report.longrepr[2].endswith(LATE)]
    left_out = Counter(report.nodeid.partition("[")[0] for report in late)
    if left_out:
        terminalreporter.section(f"no time was left for {sum(left_out.values())} tests")
        for name, count in sorted(left_out.items()):
            terminalreporter.write_line(f"{count:5} {name}")
