"""``coterie fit``: kernels on files, what is chosen by rows left out, the saved model, refusals."""

import csv
import io

import numpy as np
import pytest

import coterie as ct
from coterie.batch import steps
from coterie.cli import progress
from coterie.io.readers import read
from terminal import Terminal, refused, run, run_json

RNG = np.random.default_rng(2)
N = 90
X = RNG.normal(size=(N, 2))
SCHOOL = RNG.integers(3, size=N)
SCORE = 50 + 3 * X[:, 0] + 2 * SCHOOL * X[:, 1] + 0.3 * RNG.normal(size=N)
WHO = ("--task", "school", "--label", "score")


@pytest.fixture
def pupils(tmp_path):
    return write(tmp_path / "pupils.csv", SCORE)


def write(path, labels):
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["school", "age", "hours", "score"])
        out.writerows([f"s{s}", *map(float, x), label] for s, x, label in zip(SCHOOL, X, labels, strict=True))
    return path


def read_again(path):
    """The block of a file as a fit reads it: by the scales of all of it."""
    reader = read(path, label="score", task="school", scale="auto")
    list(reader)
    (block,) = read(path, label="score", task="school", encoder=reader.encoder, update=False)
    return block


RELATIONS = [ct.relations.MixedEffect(omega=w) for w in (0.0, 0.25, 0.5, 0.75, 0.9, 1.0)]


def predicted(path, model):
    return [each["prediction"] for each in csv.DictReader(io.StringIO(run("predict", model, path).stdout))]


def test_numbers_are_fitted_and_predicted(pupils, tmp_path):
    out = tmp_path / "score.coterie"
    said = run("fit", pupils, *WHO, "--output", out).stdout
    assert "Fitted 90 records of 3 tasks: MultitaskKernelRidge(" in " ".join(said.split())
    assert "explained variance on rows left out" in said
    model = ct.load(out)
    (block,) = read(pupils, encoder=model.encoder_, update=False)
    expected = model.predict(block.X, block.task)
    np.testing.assert_allclose(np.array(predicted(pupils, out), float), expected)
    assert 1 - np.mean((expected - SCORE) ** 2) / SCORE.var() > 0.9


def test_what_is_chosen_has_the_least_error_on_rows_left_out(pupils, tmp_path):
    told = run_json("fit", pupils, *WHO, "--kernel", "linear")
    assert told["tasks"] == 3
    assert told["explained"]["together"] >= max(told["explained"]["independent"], told["explained"]["pooled"])
    assert told["explained"]["together"] > told["explained"]["pooled"] + 0.1
    block, model = read_again(pupils), ct.batch.MultitaskKernelRidge("linear", center=True)
    path = ct.batch.ridge_path(model, block.X, block.y.astype(float), block.task, relations=RELATIONS)
    assert told["explained"]["together"] == pytest.approx(1 - path.curve.min() / SCORE.var(), rel=1e-9)
    assert f"relation={path.best[0]!r}, alpha={path.best[1]!r}" in told["parameters"]
    assert told["chosen_on"] == N


def test_a_terminal_shows_what_a_fit_has_come_to(monkeypatch):
    shown = []
    monkeypatch.setattr("rich.progress.Progress.update", lambda bar, task, description: shown.append(description))
    monkeypatch.setattr("sys.stderr", Terminal())
    for quiet in (True, False):
        with progress.telling("reading", quiet):
            assert list(steps.numbered("fold", ["a", "b"])) == ["a", "b"]
        assert shown == ([] if quiet else ["fold 1 of 2", "fold 2 of 2"])
    assert steps.logger.level == 0
    assert not steps.logger.handlers


def test_some_records_may_be_enough_to_choose(pupils, tmp_path):
    asked = ("--kernel", "linear", "--choose-on", "40")
    said = " ".join(run("fit", pupils, *WHO, *asked, "--output", tmp_path / "m.coterie").stdout.split())
    assert "explained variance on rows left out, of 40 drawn" in said
    assert "Fitted 90 records of 3 tasks" in said
    block, ridge = read_again(pupils), ct.batch.MultitaskKernelRidge("linear", center=True)
    drawn = np.sort(np.random.default_rng(0).permutation(N)[:40])
    rows, labels = block.X[drawn], block.y.astype(float)
    chosen = ct.batch.ridge_path(ridge, rows, labels[drawn], block.task[drawn], relations=RELATIONS).chosen
    expected = chosen.fit(block.X, labels, block.task)
    found = ct.load(tmp_path / "m.coterie")
    assert (found.relation, found.alpha) == (expected.relation, expected.alpha)
    np.testing.assert_allclose(found.predict(block.X, block.task), expected.predict(block.X, block.task), rtol=1e-8)


def test_a_classifier_is_chosen_by_the_errors_of_that_classifier(tmp_path):
    file = write(tmp_path / "classes.csv", np.where(SCORE > 47, "high", "low"))
    told = run_json("fit", file, *WHO, "--method", "classifier", "--kernel", "linear")
    block = read_again(file)
    codes = np.where(block.y == "high", -1.0, 1.0)[:, None]
    path = ct.batch.ridge_path(ct.batch.MultitaskKernelRidge("linear"), block.X, codes, block.task, relations=RELATIONS)
    assert f"relation={path.best[0]!r}, alpha={path.best[1]!r}" in told["parameters"]
    assert told["explained"]["together"] == pytest.approx(1 - path.curve.min() / codes.var(), rel=1e-9)
    missed = 0
    for i in range(N):
        kept = np.arange(N) != i
        rest = path.chosen.fit(block.X[kept], codes[kept, 0], block.task[kept])
        (margin,) = rest.predict(block.X[[i]], block.task[[i]])
        missed += (margin >= 0) != (codes[i, 0] > 0)
    assert told["right"]["together"] == pytest.approx(1 - missed / N, abs=1e-12)
    assert set(told["right"]) == {"together", "independent", "pooled"}
    assert "classes right" in run("fit", file, *WHO, "--method", "classifier").stdout


@pytest.mark.parametrize("method", ["classifier", "svc", "linear-svc"])
def test_classes_are_fitted_and_predicted(tmp_path, method):
    labels = np.array(["low", "middle", "high"])[np.digitize(SCORE, [48, 52])]
    file, out = write(tmp_path / "classes.csv", labels), tmp_path / "m.coterie"
    given = () if method == "classifier" else ("--C", "10")
    run("fit", file, *WHO, "--method", method, "--output", out, "-q", *given)
    assert np.mean(np.array(predicted(file, out)) == labels) > 0.8
    if method == "classifier":
        assert "MultitaskKernelClassifier(" in run("fit", file, *WHO).stdout


@pytest.mark.parametrize("method", ["svr", "linear-svr"])
def test_numbers_by_machines(pupils, tmp_path, method):
    out = tmp_path / "m.coterie"
    shape = ("--scale", "standard", "--share", "0.5")  # records of length one would have no slopes
    run("fit", pupils, *WHO, "--method", method, "--output", out, "-q", "--C", "100", *shape)
    errors = np.array(predicted(pupils, out), float) - SCORE
    assert np.sqrt(np.mean(errors**2)) < 3


def test_relations_by_name_and_file(pupils, tmp_path):
    groups = tmp_path / "groups.csv"
    groups.write_text("task,group\ns0,a\ns1,a\ns2,b\n")
    said = run("fit", pupils, *WHO, "--groups", groups, "--b", "2", "--alpha", "0.5", "--sigma", "1").stdout
    assert "relation=Clusters(groups={'s0': 'a', 's1': 'a', 's2': 'b'}" in " ".join(said.split())
    learned = run("fit", pupils, *WHO, "--relation", "optimal", "--alpha", "0.5", "--kernel", "polynomial").stdout
    assert "OptimalOutputKernel(" in learned
    assert "kernel=Polynomial(degree=2" in learned


REFUSED = {
    "--method rigde": "method is 'rigde'; expected one of ridge, classifier",
    "--kernel rbf": "kernel is 'rbf'; expected one of gaussian, linear, polynomial",
    "--alpha -1": "--alpha must be a finite number above 0, got -1.0",
    "--relation optimal": "a relation that is learned has not: give --alpha",
    "--relation optimal --share 0.5": "relation 'optimal' is learned: nothing else is said of it",
    "--choose-on 1": "--choose-on must be two records at least, got 1",
    "--method svr --alpha 1": "alpha goes with method ridge or classifier, not with method 'svr'",
    "--method svc --choose-on 9": "--choose-on goes with method ridge or classifier, not with",
    "--C 3": "C goes with method svc or svr or linear-svc or linear-svr, not with method 'ridge', the default",
    "--kernel linear --sigma 3": "sigma goes with kernel gaussian, not with kernel 'linear'",
    "--degree 7": "degree goes with kernel polynomial, not with kernel 'gaussian'",
    "--method linear-svr --kernel gaussian": "not with method 'linear-svr'",
    "--method linear-svc --sigma 1": "sigma goes with method ridge or",
    "--relation mixed --b 2": "--b does not go with relation 'mixed'",
    "--relation optimal --alpha 1 --choose-on 9": "--choose-on does not go with relation",
    "--share 2": "--share must lie between 0",
    "--method svr --plot p.png": "--plot draws errors on rows left out, which this model has none of",
    "--output nowhere/m.coterie": "--output: there is no folder",
}


def test_bad_options_and_labels_are_refused(pupils, tmp_path):
    for given, message in REFUSED.items():
        assert message in refused("fit", pupils, *WHO, *given.split()), given
    file = write(tmp_path / "classes.csv", ["x", "y", "z"] * 30)
    told = refused("fit", file, *WHO, "--method", "ridge")
    assert "has labels that are no numbers, which method 'ridge' needs" in told
    assert "standard input can be read once only" in refused("fit", "-", "--format", "csv", *WHO)


def test_a_path_is_drawn(pupils, tmp_path):
    run("fit", pupils, *WHO, "-q", "--plot", tmp_path / "path.svg")
    assert (tmp_path / "path.svg").stat().st_size > 5000


def test_a_batch_model_does_not_go_on_learning(pupils, tmp_path):
    out = tmp_path / "s.coterie"
    run("fit", pupils, *WHO, "--output", out, "-q", "--alpha", "1")
    message = "s.coterie holds a batch model (MultitaskKernelRidge): it is for predict, and does not go on learning"
    for more in ((), ("--new-task", "grow"), ("--query", tmp_path / "ask.csv")):
        assert message in refused("learn", pupils, "--from", out, *more)
    assert "MixedEffect(omega=" in run("relations", out).stdout


@pytest.mark.parametrize(("method", "instead"), [("svc", "svr"), ("linear-svc", "linear-svr"), ("classifier", "ridge")])
def test_broken_numbers_are_no_classes(pupils, tmp_path, method, instead):
    said = refused("fit", pupils, *WHO, "--method", method)
    assert f"of which method {method!r} would make a class each: take method {instead!r}" in said
    marks = write(tmp_path / "marks.csv", np.digitize(SCORE, [48, 52]))
    run("fit", marks, *WHO, "--method", method, "-q")


def test_what_was_chosen_on_the_rows_shown_is_said(pupils, tmp_path):
    def said(*given):
        return " ".join(run("fit", pupils, *WHO, *given).stdout.split())

    assert "so here it can never lose to them" in said()
    assert "Alpha was chosen on these rows, for each learner its own." in said("--share", "0.5")
    assert "chosen on these rows" not in said("--share", "0.5", "--alpha", "1")
    noise = write(tmp_path / "noise.csv", np.random.default_rng(0).normal(size=N))
    asked = ("fit", noise, *WHO, "--sigma", "1", "--share", "0.5")
    told = run_json(*asked)
    assert told["alpha_at_edge"] == 1e4
    assert told["chosen"] == ["alpha"]
    assert "Alpha ended on the edge of what was tried, 10000:" in " ".join(run(*asked).stdout.split())
