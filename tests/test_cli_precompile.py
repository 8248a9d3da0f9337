import re
import time
from threading import Thread

import pytest
from numba.core import event

from coterie.cli import compiling, precompile


@pytest.mark.parametrize("kinds", [("tables",), pytest.param(precompile.KINDS, marks=pytest.mark.slow)])
def test_it_learns_and_predicts_streams_of_each_kind(kinds, monkeypatch, capsys):
    monkeypatch.setattr(precompile, "KINDS", kinds)
    precompile.precompile()
    assert re.findall(r"^(\w+): \d+ s$", capsys.readouterr().out, re.M) == list(kinds)


def test_a_line_says_so_once_when_much_is_compiled(monkeypatch, capsys):
    monkeypatch.setattr(compiling, "PATIENCE", 0.0)
    monkeypatch.setattr(compiling, "PAUSE", 0.01)
    monkeypatch.setitem(event._registered, "numba:compile", [])
    watch = Thread(target=compiling._watch, daemon=True)
    watch.start()
    while not event._registered["numba:compile"]:
        time.sleep(0.01)
    for _ in range(compiling.MANY):
        assert "compiling" not in capsys.readouterr().err
        with event.trigger_event("numba:compile"):
            pass
    watch.join(10)
    assert capsys.readouterr().err.count("compiling for this machine") == 1
