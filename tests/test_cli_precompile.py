import re

import pytest

from coterie.jobs import precompiling
from terminal import refused, run


@pytest.mark.parametrize("what", [("tables",), pytest.param((), marks=pytest.mark.slow)])
def test_it_learns_and_predicts_streams_of_each_kind(what):
    said = run("precompile", *what).stdout
    assert re.findall(r"^(\w+): \d+ s$", said, re.M) == list(what or precompiling.WHAT)


def test_a_kind_that_is_none_is_refused():
    said = refused("precompile", "tables", "text")
    assert said == "what to compile is 'text'; expected one of tables, texts, numbers, python; did you mean 'texts'?"
