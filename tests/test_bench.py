"""The scripts in bench/ belong to this version of the library; what they measure is not looked at here."""

import importlib
from pathlib import Path

import pytest
from bench import harness
from bench.__main__ import SCRIPTS

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
