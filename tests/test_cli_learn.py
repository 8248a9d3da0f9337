import re
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import coterie as ct
from slow import but_slowly
from states import weights
from terminal import NUMBERS, WHO, refused, rows, run, run_json, write_csv, write_jsonl

LEARNERS = ["together", "independent", "pooled", "intercepts", "mixed model", "running rate", "constant"]


def saved(tmp_path, *arguments, **options):
    """The model that a learn command saves."""
    out = tmp_path / "saved.coterie"
    run("learn", *arguments, "--quiet", "--alone", "--force", "--output", out, **options)
    return ct.load(out)


def test_it_ends_with_what_to_do(clicks, tmp_path):
    model, report = tmp_path / "m.coterie", tmp_path / "r.html"
    output = run("learn", clicks, *WHO, "--output", model, "--report", report, "--verbose").stdout
    assert output.startswith("Learning together ")
    head = r"^learner +error +F1 +AUC +log loss +together: gain in log loss +95 % interval +helps +hurts +examples/s$"
    for line in (head, *(rf"^{name} +\d+\.\d\d %" for name in LEARNERS)):
        assert re.search(line, output, re.M), line
    assert f"Model: {model} (" in output
    assert "5 tasks). Next: coterie predict " in output
    assert f"Report: {report}" in output
    assert "Learning together" in report.read_text()


def test_json_has_all_of_it(clicks, tmp_path):
    model = tmp_path / "m.coterie"
    result = run_json("learn", clicks, *WHO, "--output", model)
    assert set(result) == {
        "command", "version", "examples", "tasks", "learner", "learners", "base_rate", "verdict", "against_pooled", "best_baseline", "against_best", "sentences",
        "parameters", "reading", "seconds", "stopped", "rescued", "model", "report",
    }  # fmt: skip
    assert (result["command"], result["examples"], result["tasks"], result["learner"]) == ("learn", 300, 5, "together")
    assert list(result["learners"]) == LEARNERS
    together = result["learners"]["together"]
    assert set(together) == {"measures", "seconds", "examples_per_second", "labels", "gain_over"}
    assert set(together["measures"]) == {"error_rate", "f1", "auc", "log_loss"}
    assert set(result["verdict"]) == {
        "confidence", "against", "loss", "average", "sizes", "overall", "constant", "constant_error", "base_rate", "tasks",
        "unclear", "helped", "hurt",
    }  # fmt: skip
    assert result["reading"]["columns"] == {"label": ["click"], "task": ["user"], "numeric": ["price", "age"]}
    assert result["reading"]["source"] == str(clicks)
    assert (result["model"], result["report"]) == (str(model), None)
    assert result["parameters"]["together"] == repr(ct.load(model))


def test_the_model_is_the_librarys(clicks, tmp_path):
    reader = ct.read(clicks, task="user", label="click")
    model = ct.AdaptiveSharingClassifier()
    trace = ct.progressive_validation(model, reader)
    saved_files = saved(tmp_path, clicks, *WHO)
    np.testing.assert_array_equal(saved_files.sharing_weights_, model.sharing_weights_)
    np.testing.assert_array_equal(weights(saved_files), weights(model))
    assert saved_files.encoder_.to_state()[0] == model.encoder_.to_state()[0] == reader.encoder.to_state()[0]
    again = ct.AdaptiveSharingClassifier()
    for block in reader:
        again.partial_fit(block)
    np.testing.assert_array_equal(again.decision_function(block), model.decision_function(block))
    comparison = ct.compare(ct.AdaptiveSharingClassifier(), reader)
    result = run_json("learn", clicks, *WHO)["learners"]
    for mine, theirs in zip(comparison.models, LEARNERS[:-2], strict=True):
        assert comparison.traces[mine].error == result[theirs]["measures"]["error_rate"]
        assert repr(comparison.models[mine].encoder_.to_state()) == repr(model.encoder_.to_state())
    assert comparison.traces["AdaptiveSharingClassifier"].error == trace.error
    with pytest.raises(ValueError, match="a block of a reader includes labels, tasks and weights"):
        again.partial_fit(block, block.y)


GOING_ON = [
    "",
    "--learner MultitaskLogistic(MeanRegularized(share=0.3))",
    "--learner MultitaskPerceptron(average=True,storage='sparse')",
    "--learner MultitaskLogistic(Independent()) --ignore id --scale standard",
    "--learner MultitaskPerceptron(MeanRegularized(b=5),average=True) --scale standard",
    "--learner MultitaskLogistic() --text title --bits 8",
    "--scale unit --text title --bits 8 --weight=id",
]


@pytest.mark.parametrize(
    ("write", "options"),
    but_slowly(
        [*product([write_csv, write_jsonl], GOING_ON[:4]), *product([write_csv], GOING_ON[4:])],
        (write_csv, GOING_ON[2]),
        (write_jsonl, GOING_ON[1]),
    ),
)
def test_going_on_equals_one_pass_bit_for_bit(tmp_path, write, options):
    """Wherever records are cut, and though users come one after the other."""
    records = [row | {"user": f"u{min(int(row['user'][1:]), t // 40)}"} for t, row in enumerate(rows(200))]
    options = [option for option in options.split() if write is write_jsonl or option not in ("--ignore", "id")]
    options += [] if "--bits" in options else ["--bits", "8"]
    named = {"names": (*NUMBERS, "title", "id")} if "title" in options else {}
    suffix = "csv" if write is write_csv else "jsonl"
    for end in (33,) if write is write_csv else (150,):
        first = write(tmp_path / f"a.{suffix}", records[:end], **named)
        second = write(tmp_path / f"b.{suffix}", records[end:], **named)
        whole, before, after = (tmp_path / f"{name}{end}.coterie" for name in ("whole", "before", "after"))
        run("learn", first, second, *WHO, *options, "-q", "--alone", "--output", whole)
        run("learn", first, *WHO, *options, "-q", "--alone", "--output", before)
        result = run_json("learn", second, "--from", before, "-q", "--output", after)
        one, two = ct.load(after), ct.load(whole)
        np.testing.assert_array_equal(weights(one), weights(two))
        np.testing.assert_array_equal(one.encoder_.moments, two.encoder_.moments)
        assert one.__dump__()[0] == two.__dump__()[0]
        assert repr(one) == repr(two)
        assert result["verdict"] is None
        assert "No baselines ran" in result["sentences"][0]


def test_bad_records_can_be_skipped_and_are_shown(tmp_path):
    path = write_csv(tmp_path / "c.csv", rows(40))
    path.write_text(path.read_text() + "u1,x,1,yes\nu1,1\n" + "u1,1,inf,yes\n" * 5)
    output = run("learn", path, *WHO, "--on-error", "skip").stdout
    assert "Skipped 7 of 47 records:" in output
    assert "c.csv:42: column 'price'" in output
    assert "\n  ...\n" in output
    assert run_json("learn", path, *WHO, "--on-error", "skip", "-q")["reading"]["skipped"] == 7


def test_records_without_a_label_are_left_out_and_said(tmp_path):
    path, known = write_csv(tmp_path / "c.csv", rows(40)), tmp_path / "known.csv"
    known.write_text(path.read_text())
    path.write_text(path.read_text() + "u1,1,2,\n" * 3)  # of the columns user, price, age, click
    output = run("learn", path, *WHO).stdout
    assert "3 of 43 records have no label: left out\n" in output
    assert output.splitlines()[0] == run("learn", known, *WHO).stdout.splitlines()[0]
    assert run_json("learn", path, *WHO, "-q")["reading"]["unlabelled"] == 3
    path.write_text("user,price,age,click\nu1,1,2,\nu2,1,3, \n")
    assert "none of its 2 records has a label" in refused("learn", path, *WHO)


def test_the_order_is_checked_and_names_may_be_numbers(clicks, tmp_path):
    model = tmp_path / "m.coterie"
    options_of_run = (*WHO, "--time", "n", "--categorical", "age", "--alone", "-q")
    lines = clicks.read_text().splitlines()
    numbered = [lines[0] + ",n", *(f"{line},{k}" for k, line in enumerate(lines[1:]))]
    clicks.write_text("\n".join(numbered) + "\n")
    assert run_json("learn", clicks, *options_of_run, "--output", model)["reading"]["columns"]["categorical"] == ["age"]
    assert dict(ct.load(model).encoder_.columns) == {"price": "numeric", "age": "categorical", "n": "numeric"}
    clicks.write_text("\n".join([*numbered, numbered[2]]) + "\n")
    late = "c.csv:302: column 'n': 1.0 is earlier than 299.0, of a record before".removeprefix("c.csv")
    assert late in refused("learn", clicks, *options_of_run)
    assert late in refused("learn", clicks, "--from", model, "--time", "n", "-q")
    result = run_json("learn", clicks, *options_of_run, "--on-error", "skip")
    assert (result["examples"], result["reading"]["skipped"]) == (300, 1)
    for who, column, message in (
        (("--from", model), "n", "--categorical is not supported with --from"),
        (WHO, "click", "--categorical and --label both name the column 'click'"),
    ):
        assert message in refused("learn", clicks, *who, "--categorical", column)


def test_a_model_may_refuse_new_tasks_from_then_on(clicks, tmp_path):
    assert saved(tmp_path, clicks, *WHO).new_task == "grow"
    model = tmp_path / "strict.coterie"
    run("learn", clicks, *WHO, "-q", "--new-task", "raise", "--output", model)
    assert ct.load(model).new_task == "raise"
    more = tmp_path / "more.csv"
    more.write_text("user,price,age,click\nu1,1,2,yes\nnobody,1,2,yes\n")
    before = model.read_bytes()
    message = refused("learn", more, "--from", model, "--output", model)
    assert message == f"{more}:3: column 'user': task 'nobody' was never seen and new_task is 'raise'"
    assert model.read_bytes() == before
    run("learn", more, "--from", model, "--new-task", "grow", "--output", model)
    assert "nobody" in ct.load(model).tasks_


# -- at most this many tasks


@pytest.mark.parametrize(
    ("learner", "options"),
    [
        ("AdaptiveSharingClassifier({})", ()),
        ("MultitaskLogistic({})", ()),
        ("OneVsRest(AdaptiveSharingClassifier({}))", ("--many-classes",)),
    ],
)
def test_a_bounded_model_forgets_and_those_beside_it_and_its_report_do_not(working_folder, learner, options):
    """Of nine users the first ones have most records, and do not come again."""
    order = [f"u{i}" for i, count in enumerate((120, 80, 60, 20, 20, 20, 20, 20, 40)) for _ in range(count)]
    gone = write_csv(Path("gone.csv"), [row | {"user": user} for row, user in zip(rows(400), order, strict=True)])
    free = run_json("learn", gone, *WHO, *options, "--learner", learner.format(""))
    out = ("--output", "m.coterie", "--report", "r.html")
    bounded = run_json("learn", gone, *WHO, *options, "--learner", learner.format("max_tasks=3"), *out)
    assert ct.load("m.coterie").tasks_ == ["u6", "u7", "u8"]
    assert Path("r.html").read_text().startswith("<!DOCTYPE html>")
    for name in ("independent", "pooled"):
        assert bounded["learners"][name]["measures"] == free["learners"][name]["measures"]
        assert "max_tasks" not in bounded["parameters"][name]
    assert "max_tasks=3" in bounded["parameters"]["together"]
