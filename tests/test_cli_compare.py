import re

import coterie as ct
from coterie.evaluation.constant import ConstantGuess, with_constant
from coterie.io.readers import read
from coterie.jobs.learners import LearnerSpec
from terminal import WHO, run, run_json


def test_several_learners_go_along_one_pass(clicks):
    said = run("compare", clicks, *WHO, "--verbose")
    names = re.findall(r"^(\S+) +\d+\.\d\d %", said.stdout, re.M)
    shared = ["adaptive", "mean(share=0.25)", "mean(share=0.75)"]
    assert names == [*shared, "independent", "pooled", "intercepts", "constant"]
    assert said.stderr.splitlines()[0].split()[:3] == ["examples", "tasks", "adaptive"]


def test_every_learner_is_the_librarys(clicks, tmp_path):
    model = tmp_path / "best.coterie"
    specs = ("perceptron(half)", "pa2(mean(share=0.3), C=0.1, average=false)", "mean(b=2)")
    asked = [word for spec in specs for word in ("--learner", spec)]
    told = run_json("compare", clicks, *WHO, *asked, "-q", "--output", model)
    errors = {}
    for name in specs:
        reader = read(clicks, task="user", label="click", scale="auto")
        alone = {name: ct.progressive_validation(LearnerSpec(name).make(), reader)}
        errors[name] = with_constant(alone, ConstantGuess())[name].error
        assert told["learners"][name]["micro"]["error_rate"] == errors[name]
    assert told["command"] == "compare"
    assert told["learner"] == min(errors, key=errors.get)
    assert repr(ct.load(model)) == told["parameters"][told["learner"]]


def test_it_writes_a_report(clicks, tmp_path):
    report = tmp_path / "r.html"
    run("compare", clicks, *WHO, "--learner", "half", "--report", report, "-q")
    assert "half" in report.read_text()
