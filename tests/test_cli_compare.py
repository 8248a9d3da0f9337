import re

import coterie as ct
from coterie.cli.specs import parse
from coterie.evaluation.constant import ConstantGuess, with_constant
from coterie.io.readers import read
from coterie.jobs.learner_config import LearnerConfig
from terminal import WHO, refused, run, run_json


def test_several_learners_go_along_one_pass(clicks):
    said = run("compare", clicks, *WHO)
    names = re.findall(r"^(\S+) +\d+\.\d\d %", said.stdout, re.M)
    assert names == ["adaptive", "share=0.25", "share=0.75", "independent", "pooled", "intercepts", "constant"]
    assert said.stderr.splitlines()[0].split()[:3] == ["examples", "tasks", "adaptive"]


def test_every_learner_is_the_librarys(clicks, tmp_path):
    model = tmp_path / "best.coterie"
    specs = ("half,perceptron", "share=0.3,pa2,C=0.1,no-average", "b=2")
    asked = [word for spec in specs for word in ("--learner", spec)]
    told = run_json("compare", clicks, *WHO, *asked, "-q", "--model", model)
    choices = {
        specs[0]: LearnerConfig.of(relation="half", rule="perceptron"),
        specs[1]: LearnerConfig.of(share=0.3, rule="pa2", C=0.1, average=False),
        specs[2]: LearnerConfig.of(b=2.0),
    }
    errors = {}
    for name, choice in choices.items():
        reader = read(clicks, task="user", label="click", scale="auto")
        alone = {name: ct.progressive_validation(choice.make(), reader)}
        errors[name] = with_constant(alone, ConstantGuess())[name].error
        assert told["learners"][name]["micro"]["error"] == errors[name]
    assert told["command"] == "compare"
    assert told["learner"] == min(errors, key=errors.get)
    assert repr(ct.load(model)) == told["parameters"][told["learner"]]


def test_options_hold_for_learners_that_do_not_say_otherwise(clicks):
    told = run_json("compare", clicks, *WHO, "--C", "0.2", "--learner", "half", "--learner", "pooled,C=3", "-q")
    assert "C=0.2" in told["parameters"]["half"]
    assert "C=3.0" in told["parameters"]["pooled,C=3"]
    assert "C=0.2" in told["parameters"]["independent"]


def test_it_writes_a_report(clicks, tmp_path):
    report = tmp_path / "r.html"
    run("compare", clicks, *WHO, "--learner", "half", "--report", report, "-q")
    assert "half" in report.read_text()


ONE_WORD = {
    "": LearnerConfig(),
    "half": LearnerConfig.of(relation="half"),
    "independent,perceptron,average": LearnerConfig.of(relation="independent", rule="perceptron", average=True),
    "logdet,eta=0.01,epoch=50": LearnerConfig.of(relation="logdet", eta=0.01, epoch=50),
    "epoch=auto,covariance,ridge=1": LearnerConfig.of(relation="covariance", ridge=1.0, epoch="auto"),
    "members=cheap,step=0.5": LearnerConfig.of(members="cheap", step=0.5),
    "groups=a.csv,share=0.1": LearnerConfig.of(groups="a.csv", share=0.1),
    "storage=hashed,storage_bits=10": LearnerConfig.of(storage="hashed", storage_bits=10),
    "dtype=float32": LearnerConfig.of(dtype="float32"),
}
REFUSED = {
    "hlaf": "did you mean 'half'?",
    "share": "did you mean 'share=...'?",
    "share=x": "share is 'x'; expected a number",
    "shear=1": "did you mean 'share'?",
    "perceptron,C=1": "C does not apply to the rule 'perceptron'",
    "logdet,epoch=0.5": "epoch is '0.5'; expected a whole number of records, or auto",
    "graph=g.csv,logistic": "a relation by levels",
    "b=-0.5,logistic": "b=-0.5",
    "members=all": "members must be one of default, cheap, ensemble, separable, signed",
    "members=cheap,pa1": "members 'cheap' have rules of their own",
    "logdet,eta=0": "eta of LogDet must be",
    "half,share=0.5": "share cannot be given with relation 'half'",
}


def test_a_learner_fits_in_one_word_or_is_refused(clicks):
    assert {text: parse(text, LearnerConfig()) for text in ONE_WORD} == ONE_WORD
    for spec, message in REFUSED.items():
        assert message in refused("compare", clicks, *WHO, "--learner", spec), spec
