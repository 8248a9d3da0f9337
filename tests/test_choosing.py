"""Parts say what there is to say of them once: their ranges, and their words and options on the command line."""

import math
import re

import numpy as np
import pytest

import coterie as ct
from coterie import spec
from coterie.settings import Setting


@pytest.fixture
def known():
    """Let parts that a test defines be known to commands for as long as it runs."""
    before = dict(spec.PARTS)
    yield
    spec.PARTS.clear()
    spec.PARTS.update(before)


@pytest.mark.parametrize(
    ("setting", "right", "wrong", "message"),
    [
        (Setting(above=0), [1, np.float32(2)], [0, -1, math.inf, math.nan, True, "1", None], "a finite number above 0"),
        (Setting(above=0, infinite=True), [1e-100, 1e100, math.inf], [0.0, math.nan], "a number above 0"),
        (Setting(at_least=2), [2, 2.5], [1.9, math.inf], "a finite number, at least 2"),
        (Setting(at_least=0, below=1), [0, 0.9], [1, -0.1], "a number from 0 to below 1"),
        (Setting(above=0, at_most=1), [0.1, 1], [0, 1.1], "a number above 0 and at most 1"),
        (Setting(above=0, below=1), [0.1], [0, 1, 2], "a number above 0 and below 1"),
        (Setting(below=1), [-3, 0.9], [1, 2], "a number below 1"),
        (Setting(kind="whole"), [0, -3, np.int64(2)], [1.0, True], "a whole number"),
        (Setting(kind="whole", at_least=1, unit="rows"), [1], [0, 1.5], "a whole number of rows, at least 1"),
        (Setting(kind="text", choices=("a", "b")), ["a"], ["c", None, 1], "'a' or 'b'"),
        (Setting(at_least=2, words=("auto",)), ["auto", 2], ["all", 1], "'auto' or a finite number, at least 2"),
        (Setting(kind="flag"), [True, np.bool_(False)], [1, None, "yes"], "True or False"),
    ],
)
def test_a_setting_refuses_what_is_out_of_its_range(setting, right, wrong, message):
    for value in right:
        setting.check("x", value)
    for value in wrong:
        with pytest.raises(ValueError, match=f"^x must be {re.escape(message)}, got {re.escape(repr(value))}$"):
            setting.check("x", value)
    with pytest.raises(ValueError, match=r"^x must lie between 1 and 40, got 41$"):
        Setting(at_least=1, at_most=40).check("x", 41)


def test_a_part_checks_its_fields_before_what_it_checks_itself(known):
    @spec.part
    class Ordered:
        low: float = spec.field(at_least=0)
        high: float | None = spec.field(default=None, at_least=0)

        def __post_init__(self):
            if self.high is not None and self.high < self.low:
                raise ValueError("high is below low")

    assert Ordered(1.0).high is None
    with pytest.raises(ValueError, match="low must be a finite number, at least 0, got -1"):
        Ordered(-1, -2)
    with pytest.raises(ValueError, match="high is below low"):
        Ordered(2, 1)


def test_settings_of_relations_are_searched():
    X, y, task = np.random.default_rng(0).normal(size=(90, 3)), np.arange(90) % 2, np.arange(90) % 3
    searched = ct.MultitaskLogistic(ct.MeanRegularized(share=0.5)).fit(X, y, task).set_params(relation__share=0.25)
    assert searched.relation == ct.MeanRegularized(share=0.25)
    for name, message in [
        ("relation__shar", "MeanRegularized has no parameter 'shar'.*did you mean 'share'?"),
        ("relatoin", "Invalid parameter 'relatoin'.*did you mean 'relation'?"),
    ]:
        with pytest.raises(ValueError, match=message):
            searched.set_params(**{name: 0.5})
    with pytest.raises(ValueError, match=r"expected two labels.*OneVsRest"):
        ct.MultitaskLogistic().partial_fit(X[:3], ["a", "b", "c"])
