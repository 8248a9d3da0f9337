"""What says the same thing in several files: the version, the Pythons, and the commands that check them."""

import re
import tomllib
from pathlib import Path

import yaml

import coterie

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_version_is_the_same_everywhere() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert coterie.__version__ == PROJECT["version"] == cited["version"]
    assert cited["license"] == PROJECT["license"]
    assert [author["name"] for author in cited["authors"]] == [author["name"] for author in PROJECT["authors"]]


def test_the_workflow_runs_the_gate_on_each_python() -> None:
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "check.yml").read_text())["jobs"]
    named = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    assert jobs["check"]["strategy"]["matrix"]["python"] == named
    assert PROJECT["requires-python"] == f">={named[0]}"
    assert [step["run"] for step in jobs["check"]["steps"] if "run" in step] == [".ci/run"]
    assert (ROOT / ".ci" / "run").exists()
