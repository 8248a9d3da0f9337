"""The scripts in bench/ belong to this version of the library; what they measure is not looked at here."""

import importlib
from pathlib import Path

import pytest
from bench import harness
from bench.__main__ import SCRIPTS
from bench.harness import Timing, at_least, at_most, within

FOLDER = Path(__file__).parent.parent / "bench"


@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("[a-z]*.py")))
def test_every_script_is_explained_and_finds_what_it_imports(name):
    module = importlib.import_module(f"bench.{name}")
    assert module.__doc__
    if name in SCRIPTS:
        assert f"| `{name}` |" in (FOLDER / "README.md").read_text()
        assert callable(module.rows)


@pytest.mark.parametrize(("folder", "message"), [(None, "set COTERIE_DATA"), ("nowhere", "school.npz: no such file")])
def test_data_that_are_not_there_are_named(monkeypatch, folder, message):
    monkeypatch.delenv("COTERIE_DATA", raising=False)
    if folder is not None:
        monkeypatch.setenv("COTERIE_DATA", folder)
    with pytest.raises(SystemExit, match=message):
        harness.prepared("school")


def test_ratios_are_of_medians_and_for_what_each_side_did():
    ours, peer = Timing([1.0, 3.0, 2.0]), Timing([6.0, 4.0, 8.0])
    assert at_least("", 3, ours, peer, 10).ratio == "3"
    assert at_least("", 3, ours, peer, 10).reached
    assert not at_least("", 3, ours, peer, 10, counts=(10, 20)).reached
    assert not at_least("", 3, ours, peer, 10, fair=False).reached
    assert at_most("", 0.3, ours, peer, 10).reached is False
    assert within("", 0.2, ours, count=10).reached
    assert within("", 199, ours, count=10, unit="ms").verdict == "FALLS SHORT"
