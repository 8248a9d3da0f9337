"""Learners in words: what they make, where errors point, and what the options of earlier versions are now."""

import pytest

import coterie as ct
from coterie.jobs.grammar import SpecError, written
from coterie.jobs.learners import LearnerSpec
from coterie.jobs.old_options import one_word, spec_of
from terminal import WHO, refused, run, run_json

MADE = {
    "adaptive": ct.AdaptiveSharingClassifier(),
    "adaptive(members=ensemble, step=0.5)": ct.AdaptiveSharingClassifier("ensemble", step=0.5),
    "half": ct.MultitaskLogistic(ct.HalfUpdate()),
    "logistic(mean(share=0.25), step=coin)": ct.MultitaskLogistic(ct.MeanRegularized(share=0.25), "coin"),
    "pa1(C=0.1)": ct.MultitaskPerceptron(rule=ct.rules.PassiveAggressive(C=0.1, variant="I"), average=True),
    "pa1(half_life=[500, 50])": ct.MultitaskPerceptron(
        rule=ct.rules.PassiveAggressive(C=1.0, variant="I"), half_life=(500.0, 50.0)
    ),
    "perceptron(kernel=gaussian(1), budget=shared(200))": ct.geometries.MultitaskKernelPerceptron(
        ct.kernels.Gaussian(1.0), budget=ct.budgets.SharedProjection(200), rule=ct.rules.Perceptron()
    ),
    "perceptron(kernel=polynomial(degree=2), budget=random(30))": ct.geometries.MultitaskKernelPerceptron(
        ct.kernels.Polynomial(2), budget=ct.budgets.RandomRemoval(30), rule=ct.rules.Perceptron()
    ),
    "perceptron( 'hierarchy'('/', share=[0.2, 0.3]) )": ct.MultitaskPerceptron(
        ct.Hierarchy("/", share=(0.2, 0.3)), ct.rules.Perceptron(), average=True
    ),
    "logdet(eta=0.01, epoch=50)": ct.MultitaskPerceptron(
        ct.relations.Primed(ct.LogDet(0.01, step_norm=True), 50),
        ct.rules.PassiveAggressive(C=1.0, variant="I"),
        average=True,
    ),
    "ask(adaptive, c=0.3)": ct.SelectiveSampling(ct.AdaptiveSharingClassifier(), ct.asking.Margin(0.3)),
    "ask(arow, below(0.1), budget=20)": ct.SelectiveSampling(ct.MultitaskAROW(), ct.asking.Below(0.1), budget=20),
    "adaptive(members=[arow(pooled), logistic(independent)])": ct.AdaptiveSharingClassifier(
        [ct.MultitaskAROW(ct.Pooled()), ct.MultitaskLogistic(ct.Independent())]
    ),
}


@pytest.mark.parametrize("text", MADE)
def test_a_spec_is_the_python_that_it_looks_like(text):
    assert repr(LearnerSpec(text).make()) == repr(MADE[text])


def test_labels_and_views_choose_among_learners():
    assert repr(LearnerSpec("half", regression=True).make()) == repr(
        ct.MultitaskRegressor(ct.HalfUpdate(), ct.rules.Squared())
    )
    assert repr(LearnerSpec("adaptive", regression=True).make()) == "AdaptiveSharingRegressor()"
    assert repr(LearnerSpec("pooled", many_classes=True).make()).startswith(
        "OneVsRest(model=MultitaskLogistic(relation=Pooled("
    )
    made = LearnerSpec("orthogonal(4, kernels=gaussian, rule=pa1(C=2))", views=True).make()
    assert (made.p, made.kernels, made.rule.C, made.average) == (4.0, ct.kernels.Gaussian(1.0), 2.0, True)


REFUSED = {
    "pa1(grph(e.csv))": ("no relation is called 'grph'", "did you mean 'graph'?", 4),
    "pa1(C=0.1, relation=clusters)": ("clusters needs groups (a file)", "", 20),
    "pa1(D=1)": ("pa1 takes no 'D'; it takes relation", "", 4),
    "pa1(C=x)": ("C is 'x'; expected a number", "", 6),
    "pa1(half, C=-1)": ("C must be positive, got -1.0", "", 12),
    "pa1(half, relation=half)": ("pa1 has relation twice", "", 19),
    "pa1(half, pa2, true, 5)": ("pa1 takes only relation, rule, average by place", "", 21),
    "pa1(C=0.1 relation=half)": ("expected , or ) before 'relation'", "what holds spaces needs quotes", 10),
    "pa1(C=(1))": ("expected a name, not '('", "", 6),
    "pa1(C=half(1))": ("C takes a value, not half...", "", 6),
    "pa1(C='0.1": ("a quote is not closed", "", 6),
    "pa1(half": ("expected , or ) at the end", "", 8),
    "half)": ("expected nothing more before ')'", "", 4),
    "": ("expected a name", "", 0),
    "[half]": ("brackets are no learner", "", 0),
    "hlaf": ("no learner is called 'hlaf'", "did you mean 'half'?", 0),
    "squared": ("squared is a learner of numbers (regression); expected", "", 0),
    "orthogonal": ("orthogonal is a learner of records of views", "", 0),
    "adaptive(members=all)": ("members must be one of default, cheap", "", 17),
    "adaptive(members=half(1))": ("expected a list in brackets", "", 17),
    "logistic(relation=graph(e.csv))": ("cannot learn under this relation", "", 18),
    "mean(b=1, share=0.5)": ("give either b or share", "", 0),
    "perceptron(kernel=gaussian, storage=hashed)": ("perceptron takes no kernel with storage", "", 18),
    "perceptron(kernel=gaussain)": ("no kernel is called 'gaussain'", "did you mean 'gaussian'?", 18),
    "perceptron(kernel=linear, budget=random)": ("random needs size", "", 33),
    "perceptron(kernel=linear, budget=random(0))": ("size must be a whole number of support vectors", "", 40),
    "ask(adaptive, ask=below(0.1), c=1)": ("c is for ask's own ask, and ask is given", "", 32),
}


@pytest.mark.parametrize("text", REFUSED)
def test_an_error_points_at_its_place(text):
    said, hint, place = REFUSED[text]
    with pytest.raises(SpecError) as met:
        LearnerSpec(text)
    assert said in str(met.value)
    assert hint in str(met.value)
    assert met.value.shown == (text, " " * place + "^")


def test_commands_show_the_place_before_the_error(clicks):
    lines = run("learn", clicks, *WHO, "--learner", "pa1(C=0.1, relation=grph)", code=2).stderr.splitlines()
    assert lines[:2] == ["  pa1(C=0.1, relation=grph)", "                      ^"]
    assert lines[2].startswith("coterie: error: --learner: no relation is called 'grph'; expected one of ")


def test_a_file_holds_a_spec(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "learner.toml").write_text('name = "pa1"\nC = 0.1\n[relation]\nname = "mean"\nshare = 0.25\n')
    assert repr(LearnerSpec("@learner.toml").make()) == repr(LearnerSpec("pa1(mean(share=0.25), C=0.1)").make())
    (tmp_path / "other.toml").write_text('name = "half"\n')
    (tmp_path / "learner.toml").write_text('name = "pa1"\n[relation]\nshare = 0.25\n')
    assert LearnerSpec("@other.toml").files == ["other.toml"]
    with pytest.raises(ValueError, match=r"learner.toml: a table without a name: expected name = '...' beside share"):
        LearnerSpec("@learner.toml")
    assert written({"name": "pa1", "average": False, "x": "it's here"}) == 'pa1(average=false, x="it\'s here")'


def test_files_are_named_as_they_are(tmp_path):
    path = tmp_path / "my regions.csv"
    path.write_text("task,group\n1,x\n2,y\n")
    learner = LearnerSpec(f"pa1(C=0.1, relation=clusters('{path}', share=0.3))")
    assert learner.files == [str(path)]
    assert learner.make(int).relation == ct.Clusters({1: "x", 2: "y"}, share=0.3)
    assert LearnerSpec("hierarchy(/)").files == []


OLD = {
    "": "adaptive",
    "relation=half": "half",
    "b=2.0": "mean(b=2)",
    "share=0.3,rule=pa2,C=0.1,average=no": "pa2(relation=mean(share=0.3), C=0.1, average=false)",
    "members=cheap,step=0.5": "adaptive(members=cheap, step=0.5)",
    "graph=my edges.csv": "graph(edges='my edges.csv')",
    "relation=logdet,eta=0.01,epoch=50": "logdet(eta=0.01, epoch=50)",
    "half_life=500.0": (
        "adaptive(members=[logistic(relation=independent, half_life=500), logistic(relation=half, half_life=500), "
        "logistic(relation=pooled, half_life=500)])"
    ),
    "r=3.0": "adaptive(members=[arow(relation=independent, r=3), arow(relation=half, r=3), arow(relation=pooled, r=3)])",
    "storage=hashed,storage_bits=10": "adaptive(storage=hashed, bits=10)",
    "kernel=gaussian,sigma=2.0,budget=random,budget_size=30": (
        "perceptron(kernel=gaussian(sigma=2), relation=half, budget=random(size=30))"
    ),
    "multiview=orthogonal,p=4.0,C=2.0": "orthogonal(p=4, rule=pa1(C=2))",
    "label_budget=5": "ask(model=adaptive, ask=margin, budget=5)",
    "ask=below,ask_c=0.5": "ask(model=adaptive, ask=below(0.5))",
    "max_tasks=3,relation=half": "logistic(relation=half, max_tasks=3)",
}


@pytest.mark.parametrize("given", OLD)
def test_options_of_earlier_versions_are_specs(given):
    said = dict(each.split("=") for each in given.split(",") if each)
    typed = {name: _typed(value) for name, value in said.items()}
    assert spec_of(typed) == OLD[given]
    LearnerSpec(OLD[given], views="multiview" in said)


def _typed(text):
    return False if text == "no" else int(text) if text.isdigit() else float(text) if text[0].isdigit() else text


def test_numbers_have_other_rules():
    assert spec_of({}, regression=True) == "adaptive"
    assert spec_of({"rule": "epsilon"}, regression=True) == "epsilon(relation=half)"
    assert spec_of({"half_life": 5.0}, regression=True) == "squared(relation=half, half_life=5)"


def test_options_of_no_use_are_refused_with_the_spec():
    for said, message in (
        ({"epsilon": 0.1, "relation": "half"}, "epsilon cannot be given with the other options .* 'half'"),
        ({"sigma": 1.0}, "sigma cannot be given with"),
        ({"relation": "hlaf"}, "relation is 'hlaf'; expected one of adaptive, .*; did you mean 'half'"),
    ):
        with pytest.raises(ValueError, match=message):
            spec_of(said)


def test_commands_take_what_they_took_and_say_how_to_write_it(clicks, tmp_path):
    kept = tmp_path / "m.coterie"
    old = ("--share", "0.25", "--rule", "pa1", "--model", kept)
    told = run("learn", clicks, *WHO, *old, "-q", "--alone").stderr.splitlines()
    assert told == [
        "coterie: since 0.3 learn --model is written --output (-o)",
        "coterie: since 0.3 --rule --share is written --learner 'pa1(relation=mean(share=0.25))'",
    ]
    assert ct.load(kept).relation == ct.MeanRegularized(share=0.25)
    made = run("predict", clicks, "--model", kept)
    assert made.stderr == "coterie: since 0.3 predict --model is written coterie predict MODEL FILE\n"
    assert made.stdout == run("predict", kept, clicks).stdout
    assert "--rule is an argument of --learner" in refused("learn", clicks, *WHO, *old, "--learner", "half")
    learners = ("--learner", "share=0.3,pa2,C=0.1", "--learner", "half")
    compared = run_json("compare", clicks, *WHO, *learners, "-q")
    assert "PassiveAggressive(C=0.1, variant='II')" in compared["parameters"]["share=0.3,pa2,C=0.1"]
    assert one_word("half,perceptron", {}, regression=False) == "perceptron(relation=half)"
    new = tmp_path / "new.csv"
    new.write_text("user,price,age\nu1,0,0\n")
    query = ("learn", new, "--from", kept, "--query", tmp_path / "q.csv", "--ask", "always", "--label-budget", 9, "-q")
    assert "is written coterie ask " in run(*query).stderr
    assert (tmp_path / "q.csv").exists()


@pytest.mark.parametrize(
    ("word", "meant"), [("--target", "--label"), ("--y", "--label"), ("--user", "--task"), ("--out", "--output")]
)
def test_words_of_others_are_known_in_errors(clicks, word, meant):
    said = refused("learn", clicks, word, "x")
    assert said == f"no such option {word}: did you mean {meant}? (see coterie learn --help)"


def test_all_options_are_shown_on_demand():
    assert "--share" not in run("learn", "--help").stdout
    assert "--share" in run("learn", "--help-all").stdout
