"""``coterie bandit``: logs of known truth in every format, each refusal a row of a table."""

import csv
import json
import re
from functools import cache

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

import coterie as ct
from coterie.bandits.log_evaluation import DONE, SAVED, SHARED, SINGLE, _LogPass, _prepared
from coterie.bandits.off_policy import policy_value
from coterie.data.bandit_logs import LogColumns, read_log
from terminal import refused, run, run_json

ACTIONS = ("shoes", "hats", "coats")
MU = (0.5, 0.3, 0.2)
COLUMNS = ("--task", "user", "--action", "offer", "--reward", "click")
ONE = (*COLUMNS, "--probability", "p", "--features", "hour")
ALL = (*COLUMNS, "--probabilities", "p_*", "--features", "hour")


def choices(n=400, seed=0):
    """Choices at random among three offers, of which users of a kind like one more: as rows of a table."""
    rng = np.random.default_rng(seed)
    for i in range(n):
        user, hour, a = int(rng.integers(12)), int(rng.integers(24)), int(rng.choice(3, p=MU))
        liked = 0.15 + 0.5 * (a == (2 if user % 4 else 0))
        yield {
            "user": f"u{user}",
            "hour": hour,
            "offer": ACTIONS[a],
            "click": int(rng.random() < liked),
            "p": MU[a],
            **{f"p_{action}": p for action, p in zip(ACTIONS, MU, strict=True)},
            "at": 60 * i,
        }


ROWS = list(choices())


def write(path, rows=None, **changed):
    """Rows as CSV; some values of the fourth row changed."""
    rows = [dict(row) for row in (ROWS if rows is None else rows)]
    if changed:
        rows[3] |= changed
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return path


@pytest.fixture
def log(tmp_path):
    return write(tmp_path / "log.csv", ROWS[:200])


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory):
    """What the command prints of the whole log as JSON, and the bandit that it writes."""
    folder = tmp_path_factory.mktemp("evaluated")
    path = folder / "o.coterie"
    return run_json("bandit", write(folder / "log.csv"), *ALL, "-q", "-o", path), path


def test_the_verdict_says_what_is_true(evaluated):
    """The best of three offers by user is worth .65, the best single one .53, what was done some .30."""
    result, _ = evaluated
    policies, gains = result["policies"], result["gains"]
    assert policies[DONE]["value"] == pytest.approx(np.mean([row["click"] for row in ROWS]))
    assert result["single"] == "coats"
    assert policies[SINGLE]["low"] < 0.525 < policies[SINGLE]["high"]
    assert gains[SHARED][DONE]["low"] > 0.05
    assert (result["rows"], result["tasks"], result["most_actions"], result["chosen"]) == (400, 12, 3, SHARED)
    assert {policy["estimator"] for policy in policies.values()} == {"dr*"}
    for name, told_gains in gains.items():
        for other, gain in told_gains.items():
            assert gain["value"] == pytest.approx(policies[name]["value"] - policies[other]["value"], abs=1e-12)
            assert gain["low"] < gain["value"] < gain["high"]


def test_it_prints_the_verdict_first_and_what_comes_next_last(tmp_path):
    output = run("bandit", write(tmp_path / "log.csv"), *ALL, "-o", tmp_path / "o.coterie").stdout
    few = write(tmp_path / "few.csv", ROWS[:100])
    assert re.match(r"Use a shared policy: \+0\.\d+ \(95 %\s+interval 0\.\d+ to 0\.\d+\) ag.* what was\s+done", output)
    names = re.findall(r"^(.+?) +0\.\d+ +0\.\d+ to 0\.\d+", output, re.M)
    assert names == ["shared", "one for all", "one per task", "always 'coats'", "what was done"]
    assert "400 choices of 12 tasks among 3 actions." in output
    assert "--policy" in output.splitlines()[-1]
    assert "may be too narrow" not in output
    assert "Next: " in run("bandit", few, *ONE).stdout
    assert run("bandit", few, *ONE, "-q").output == ""


def test_with_the_probability_of_what_was_shown_it_is_dr_and_says_so(log):
    result = run_json("bandit", log, *ONE, "-q")
    assert result["policies"][SHARED]["estimator"] == "dr"
    assert any("may be too narrow" in sentence for sentence in result["sentences"])


def by_hand(rows):
    """The shared policy as its definition says, and the bandit that has learned."""
    bandit, pi, q = ct.Bandit(), [], []
    for row in rows:
        x = {"hour": float(row["hour"])}
        pi.append(bandit.probabilities(x, ACTIONS, row["user"]))
        q.append(bandit.scores(x, ACTIONS, row["user"]))
        bandit.learn(x, row["offer"], float(row["click"]), row["p"], task=row["user"])
    reward = np.array([float(row["click"]) for row in rows])
    shown = np.array([ACTIONS.index(row["offer"]) for row in rows])
    return bandit, policy_value(reward, shown, np.array([MU] * len(rows)), np.array(pi), np.array(q))


def test_each_row_is_evaluated_before_it_is_learned_and_the_bandit_written_has_learned_all(evaluated):
    result, path = evaluated
    bandit, value = by_hand(ROWS)
    policy = result["policies"][SHARED]
    assert [policy[key] for key in ("value", "low", "high")] == [value.value, value.low, value.high]
    written = ct.load(path)
    assert isinstance(written, ct.Bandit)
    assert written.n_rewards_ == 400
    x = {"hour": 5.0}
    assert written.scores(x, ACTIONS, "u1") == bandit.scores(x, ACTIONS, "u1")
    assert result["output"] == str(path)


def test_a_saved_bandit_is_valued_as_it_is(log, tmp_path):
    rows, before = ROWS[:200], list(choices(200, seed=1))
    bandit, _ = by_hand(before)
    bandit.save(tmp_path / "m.coterie")
    saved = (tmp_path / "m.coterie").read_bytes()
    result = run_json("bandit", log, *ALL, "-q", "--policy", tmp_path / "m.coterie")
    assert (tmp_path / "m.coterie").read_bytes() == saved
    x = [{"hour": float(row["hour"])} for row in rows]
    logged = {"actions": list(ACTIONS), "task": [row["user"] for row in rows], "probabilities": [MU] * len(rows)}
    known = ct.bandits.BanditLog(x, [row["offer"] for row in rows], [row["click"] for row in rows], **logged)
    wanted = ct.off_policy(known, bandit, predicted=ct.Bandit())
    assert result["policies"][SAVED]["value"] == pytest.approx(wanted.value, rel=1e-12)
    assert result["policies"][SAVED]["low"] == pytest.approx(wanted.low, rel=1e-12)
    assert result["chosen"] == SAVED
    assert "unless it has learned from these rows" in result["sentences"][0]
    assert "m.coterie" in run("bandit", log, *ALL, "--policy", tmp_path / "m.coterie").stdout


def test_a_bandit_that_was_written_is_a_model_for_other_commands(log, tmp_path):
    path = tmp_path / "o.coterie"
    output = run("bandit", log, *ALL, "-o", path).stdout.splitlines()[-1]
    next_step = rf"Next, with a later log: coterie bandit FILE \.\.\. --policy {path}"
    assert re.fullmatch(rf"Model: {path} \([\d.]+ kB, 12 tasks\)\. {next_step}", output)
    assert "hour^coats" in run("explain", path).stdout
    assert "hour^" in run("explain", path, "--task", "u1").stdout
    assert "contains a bandit; use explain(x, action)" in refused("explain", path, '{"hour": 3}')
    assert "--policy" in run("forget", path, "--task", "u1").stdout
    assert "u1" not in ct.load(path).tasks_


def test_a_policy_for_other_actions_or_of_no_bandit_is_refused(log, tmp_path):
    path = tmp_path / "m.coterie"
    for actions, message in ((["shoes", "hats"], "is not one of actions="), ([{"price": 1.0}], "dictionaries of")):
        bandit = ct.Bandit(actions=actions if len(actions) == 2 else None)
        bandit.learn({"hour": 1.0}, actions[0], 1.0, task="u1")
        bandit.save(path)
        refusal = refused("bandit", log, *ONE, "--policy", path)
        assert refusal.startswith(f"{log}:2: action")
        assert message in refusal
    ct.MultitaskPerceptron().partial_fit([[1.0]], [True], task=["a"]).save(path)
    assert "contains a MultitaskPerceptron; expected a bandit" in refused("bandit", log, *ONE, "--policy", path)


def test_no_policy_knows_what_comes_after_a_row(log, tmp_path):
    """The last reward turned around changes no value before it, of the best single action neither."""
    *rows, last = ROWS[:200]
    other = write(tmp_path / "other.csv", [*rows, last | {"click": 1 - last["click"]}])
    columns = LogColumns(task="user", action="offer", reward="click", probability="p", features=("hour",))
    policies, predicted = [], []
    for path in (log, other):
        going = _LogPass(_prepared(list(read_log(path, columns)), None, str(path)), None, None)
        going.run()
        policies.append({name: np.array(chosen) for name, chosen in going.probabilities.items()})
        predicted.append(np.array(going.scores))
    assert list(policies[0]) == ["shared", "one for all", "one per task", "single action"]
    for name, chosen in policies[0].items():
        np.testing.assert_array_equal(chosen, policies[1][name])
    np.testing.assert_array_equal(*predicted)


OBJ = (*COLUMNS, "--probabilities", "pi", "--features", "hour")


def one_object(row):
    """A row whose probabilities are one object."""
    columns = {name: row[name] for name in ("user", "hour", "offer", "click")}
    return columns | {"pi": {action: row[f"p_{action}"] for action in ACTIONS}}


def write_numbers(path, rows):
    """Rows as JSON Lines whose actions are numbers, not text."""
    names = {action: str(number) for number, action in enumerate(ACTIONS)}
    text = "".join(json.dumps(row | {"offer": ACTIONS.index(row["offer"])}) + "\n" for row in rows)
    path.write_text(re.sub("p_(\\w+)", lambda match: f"p_{names[match[1]]}", text))


FORMATS = {
    "log.csv": (write, ALL),
    "log.tsv": (lambda path, rows: path.write_text(write(path, rows).read_text().replace(",", "\t")), ALL),
    "log.jsonl": (lambda path, rows: path.write_text("".join(json.dumps(row) + "\n" for row in rows)), ALL),
    "object.jsonl": (lambda path, rows: path.write_text("".join(json.dumps(one_object(r)) + "\n" for r in rows)), OBJ),
    "log.parquet": (lambda path, rows: pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path), ALL),
    "numbers.jsonl": (write_numbers, ALL),
}


@cache
@pytest.mark.parametrize("name", FORMATS)
def test_every_format_says_the_same(name, tmp_path):
    make, options = FORMATS[name]
    make(tmp_path / name, ROWS[:150])
    result = run_json("bandit", tmp_path / name, *options, "-q")
    _, wanted = by_hand(ROWS[:150])
    assert result["policies"][SHARED]["value"] == pytest.approx(wanted.value, rel=1e-9)
    assert result["policies"][SHARED]["low"] == pytest.approx(wanted.low, rel=1e-9)
    assert (result["rows"], result["tasks"]) == (150, 12)
    assert (result["single"], result["most_actions"]) == ("2" if name == "numbers.jsonl" else "coats", 3)


def test_rewards_that_never_come(tmp_path):
    rows = [row | {"click": row["click"] or ""} for row in ROWS[:250]]
    path = write(tmp_path / "late.csv", rows)
    there = sum(bool(row["click"]) for row in rows)
    result = run_json("bandit", path, *ALL, "-q")
    assert (result["rows"], result["left_out"]["unrewarded"]) == (there, 250 - there)
    assert result["policies"][DONE]["value"] == 1.0
    result = run_json("bandit", path, *ALL, "-q", "--time", "at", "--window", "100m")
    assert (result["rows"], result["left_out"]["window"]) == (150, 100)  # the last hundred minutes, rewarded or not
    assert result["policies"][DONE]["value"] == pytest.approx(np.mean([row["click"] for row in ROWS[:150]]))
    assert result["zeros"] == 150 - sum(row["click"] for row in ROWS[:150])
    output = run("bandit", path, *ALL, "--time", "at", "--window", "100m").stdout
    assert f"{result['zeros']} rewards never came, and count as 0. 100 rows left out" in " ".join(output.split())


def test_actions_that_are_not_offered_have_empty_cells(tmp_path):
    rows = [dict(row) for row in ROWS[:300]]
    for row in rows[:200]:
        if row["offer"] != "coats":
            row |= {"p": {"shoes": 0.6, "hats": 0.4}[row["offer"]], "p_shoes": 0.6, "p_hats": 0.4, "p_coats": ""}
    path = write(tmp_path / "some.csv", rows)
    assert run_json("bandit", path, *ALL, "-q")["policies"][SHARED]["estimator"] == "dr*"
    shown = next(iter(read_log(path, LogColumns(task="user", action="offer", reward="click", probabilities=("p_*",)))))
    assert (shown.actions, shown.probabilities) == (["shoes", "hats"], [0.6, 0.4])


NO_TASK = ("--action", "offer", "--reward", "click", "--probability", "p")
ROWS_OF_ONE = [row | {"offer": "hats"} for row in ROWS]
SURE = [row | {"p": 1} for row in ROWS]
NEVER = [row | {"p_coats": 0, "p_shoes": 0.7} for row in ROWS if row["offer"] != "coats"]
NO_REWARD = [row | {"click": ""} for row in ROWS]
REFUSED = {
    "rows": ({}, (*ONE, "--format", "vw"), "--format vw holds no choices, but one label per row; expected one"),
    "no task": ({}, NO_TASK, "--task is missing; name the column of the task"),
    "no probability": ({}, COLUMNS, "--probability is missing; name the column of the probability of the chosen act"),
    "two": ({}, (*ONE, "--probabilities", "p_*"), "--probability is given together with --probabilities"),
    "no column": ({}, (*NO_TASK, "--task", "usr"), "log.csv: there is no column 'usr' among"),
    "window": ({}, (*ONE, "--window", "5s"), "--window requires --time"),
    "task": ({"user": ""}, ONE, "log.csv:5: column 'user': the task is missing"),
    "action": ({"offer": ""}, ONE, "log.csv:5: column 'offer': the action is missing"),
    "reward": ({"click": "often"}, ONE, "log.csv:5: column 'click': 'often' is not a number"),
    "zero": ({"p": 0}, ONE, "log.csv:5: column 'p': the probability 0 of the chosen action must be above 0 and at"),
    "negative": ({"p_hats": -0.1}, ALL, "log.csv:5: column 'p_hats': the probability -0.1 is not between 0 and 1"),
    "sum": ({"p_hats": 0.9}, ALL, "log.csv:5: the probabilities of 3 actions sum to 1.6, not to 1"),
    "unknown": ({"offer": "socks"}, ALL, "log.csv:5: 'socks' was chosen, but has no probability among 'shoes', 'hats'"),
    "order": ({"at": 9999}, (*ONE, "--time", "at"), "log.csv:6: column 'at': 240.0 is earlier than 9999.0"),
    "feature": ({"hour": "inf"}, ONE, "log.csv:5: column 'hour': "),
    "one action": (ROWS_OF_ONE, ONE, "log.csv: there is only one action"),
    "sure": (SURE, ONE, "log.csv: every choice has probability 1; other policies cannot be evaluated by such a log"),
    "never shown": (NEVER, ALL, "log.csv:2: the action 'coats' had probability 0, but the shared policy may choose it"),
    "no reward": (NO_REWARD, ONE, "log.csv: no row has a reward"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_refused(name, working_folder):
    changed, options, message = REFUSED[name]
    log = working_folder / "log.csv"
    write(log, **changed) if isinstance(changed, dict) else write(log, changed)
    assert refused("bandit", "log.csv", *options).startswith(message)
