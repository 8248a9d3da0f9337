"""Parts say what there is to say of them once: their ranges, and their words and options on the command line."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

import coterie as ct
from coterie import spec
from coterie.jobs.learners import arguments
from coterie.jobs.old_options import old_options
from coterie.jobs.shares import relation_name
from coterie.numeric.primal.rules import MistakeStep
from coterie.relations.levels import LevelRelation
from coterie.settings import Setting
from terminal import WHO, refused, run, run_json


@pytest.fixture
def known():
    """Let parts that a test defines be known to commands for as long as it runs."""
    before = dict(spec._PARTS)
    yield
    spec._PARTS.clear()
    spec._PARTS.update(before)


SHARE = "How much [devices](relations.md) share."


@pytest.fixture
def devices(known):
    @spec.choice("relation", "devices", "what is called alike shares")
    @spec.part
    class Devices(LevelRelation):
        """Tasks whose names begin alike share, M = (1 - reach) I + reach (a block of ones for each letter)."""

        reach: float = spec.field(default=0.5, at_least=0, at_most=1, option="reach", metavar="R", help=SHARE)

        @property
        def depth(self):
            return 1

        def path(self, task):
            return (task[0],)

        def own(self, depth):
            return 1.0 - self.reach

        def shared(self, level, members):
            return self.reach

    return Devices


def words(text):
    return " ".join(text.split())


def test_a_relation_brings_its_word_and_its_arguments_to_the_command_line(devices, clicks, tmp_path):
    """Nothing but the part itself knows of the word and of the option."""
    assert "devices(reach=0.5)" in run("learn", "--help-all").stdout
    learner = ("--learner", "pa1(devices(0.25))")
    run("learn", clicks, *WHO, *learner, "-q", "--alone", "--output", tmp_path / "m.coterie")
    assert ct.load(tmp_path / "m.coterie").relation == devices(reach=0.25)
    told = run_json("compare", clicks, *WHO, "--learner", "devices(reach=0.75)", "--learner", "pa1(devices)", "-q")
    assert "relation=Devices(reach=0.75)" in told["parameters"]["devices(reach=0.75)"]
    assert "relation=Devices(reach=0.5)" in told["parameters"]["pa1(devices)"]


def test_a_field_with_help_is_told(known):
    @spec.choice("relation", "alike")
    @spec.part
    class Alike(ct.MeanRegularized):
        """Tasks share as told."""

        reach: float = spec.field(default=0.5, at_least=0, at_most=1, help="How far it goes.")

    assert arguments()["reach"] == "How far it goes."
    model = ct.MultitaskPerceptron(Alike(share=0.25, reach=0.75))
    assert relation_name(model) == "Alike(share=0.25, reach=0.75)"


def test_its_arguments_are_refused_as_all_others_are(devices, clicks):
    learn = ("learn", clicks, *WHO, "--learner")
    assert refused(*learn, "devices(2)") == "--learner: reach must lie between 0 and 1, got 2.0"
    assert "half takes no 'reach'; it takes nothing" in refused(*learn, "half(reach=0.5)")
    assert "devices takes no 'share'; it takes reach" in refused(*learn, "devices(share=0.5)")
    assert "did you mean 'devices'?" in refused(*learn, "device")


def test_a_rule_brings_its_word_and_its_arguments_to_the_command_line(known, clicks, tmp_path):
    @spec.choice("rule", "margin")
    @spec.part
    class WithMargin:
        """A step of one wherever y·margin <= wanted."""

        move = "gradient"
        log_odds = None

        wanted: float = spec.field(default=1.0, above=0, help="The margin wanted.")

        def compiled(self):
            return MistakeStep(float(self.wanted))

    assert "margin(relation, wanted=1, average=true)" in run("learn", "--help-all").stdout
    learner = ("--learner", "margin(mean(share=0.5), wanted=2)")
    run("learn", clicks, *WHO, *learner, "-q", "--alone", "--output", tmp_path / "m.coterie")
    assert ct.load(tmp_path / "m.coterie").rule == WithMargin(2.0)
    message = "--learner: wanted must be a finite number above 0, got 0.0"
    assert refused("learn", clicks, *WHO, "--learner", "margin(wanted=0)") == message


def test_every_option_says_what_it_is():
    for name, setting in old_options().items():
        assert setting.help.endswith("."), name
        assert not re.search(r"[{}]", setting.help), name
        assert setting.placeholder != "X", name


@pytest.mark.parametrize(
    ("setting", "right", "wrong", "message"),
    [
        (Setting(above=0), [1, np.float32(2)], [0, -1, math.inf, math.nan, True, "1", None], "a finite number above 0"),
        (Setting(above=0, infinite=True), [1e-100, 1e100, math.inf], [0.0, math.nan], "a number above 0"),
        (Setting(at_least=2), [2, 2.5], [1.9, math.inf], "a finite number, at least 2"),
        (Setting(at_least=0, below=1), [0, 0.9], [1, -0.1], "a number from 0 to below 1"),
        (Setting(above=0, at_most=1), [0.1, 1], [0, 1.1], "a number above 0 and at most 1"),
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


@pytest.mark.parametrize("value", [1e-101, -1e-200, 5e-324, 1e101, -1e300, 10**101, 10**400])
def test_numbers_whose_squares_are_none_are_refused(value):
    """Such a width of a kernel divided by zero when something was predicted."""
    for check in (Setting().check, Setting(infinite=True).check, lambda name, value: ct.kernels.Gaussian(abs(value))):
        with pytest.raises(ValueError, match=r"(x|sigma) must be of a size from 1e-100 to 1e\+100, got "):
            check("x", value)
    with pytest.raises(ValueError, match=r"^x must be a number of 64 bits, got 9223372036854775808$"):
        Setting(kind="whole").check("x", 2**63)
    Setting(kind="whole").check("x", 2**63 - 1)
    for fine in (0.0, np.float32(0.5)):
        Setting().check("x", fine)


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


@pytest.mark.parametrize(
    ("setting", "text", "value"),
    [
        (Setting(), "0.5", 0.5),
        (Setting(several=True), "0.25,0.5", (0.25, 0.5)),
        (Setting(kind="whole", words=("auto",)), "auto", "auto"),
        (Setting(kind="whole"), "12", 12),
        (Setting(kind="text"), "12", "12"),
    ],
)
def test_the_text_of_an_option_is_read_by_what_its_setting_says(setting, text, value):
    read = setting.read("x", text)
    assert (type(read), read) == (type(value), value)


def test_relations_are_taken_by_word_and_their_settings_are_searched():
    X, y, task = np.random.default_rng(0).normal(size=(90, 3)), np.arange(90) % 2, np.arange(90) % 3
    by_word, by_part = ct.MultitaskLogistic("mean"), ct.MultitaskLogistic(ct.MeanRegularized(share=0.5))
    np.testing.assert_array_equal(by_word.fit(X, y, task).coef_, by_part.fit(X, y, task).coef_)
    searched = by_word.set_params(relation__share=0.25)
    assert searched.relation == ct.MeanRegularized(share=0.25)
    for name, message in [
        ("relation__shar", "MeanRegularized has no parameter 'shar'.*did you mean 'share'?"),
        ("relatoin", "Invalid parameter 'relatoin'.*did you mean 'relation'?"),
    ]:
        with pytest.raises(ValueError, match=message):
            searched.set_params(**{name: 0.5})
    with pytest.raises(ValueError, match=r"expected two labels.*OneVsRest"):
        ct.MultitaskLogistic().partial_fit(X[:3], ["a", "b", "c"])
