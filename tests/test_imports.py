"""What importing the package brings in, and what it offers."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import coterie as ct

PACKAGE = Path(ct.__file__).parent

PUBLIC = [
    "AdaptiveSharingClassifier", "AdaptiveSharingRegressor", "Bandit", "Clusters", "HalfUpdate",
    "HeterogeneousMultitaskPerceptron", "Hierarchy", "Independent", "LogDet", "MeanRegularized", "Member",
    "MultitaskAROW", "MultitaskKernelPerceptron", "MultitaskLogistic", "MultitaskMixedEffectsClassifier",
    "MultitaskMixedEffectsRegressor", "MultitaskPerceptron", "MultitaskRegressor", "OneVsRest",
    "PNormMultitaskPerceptron", "Pooled", "PotentialMultitaskPerceptron", "SecondOrderMultitaskPerceptron",
    "SecondOrderMultitaskRegressor", "SelectiveSampling", "TaskGraph", "bandits", "batch", "compare", "data",
    "datasets", "distributed", "evaluation", "kernels", "load", "off_policy", "progressive_validation", "read",
    "tasks", "updates", "views",
]  # fmt: skip
HEAVY = [
    "sklearn", "pyarrow", "pandas", "polars", "plotly", "matplotlib", "river", "scipy.sparse.linalg", "safetensors",
]  # fmt: skip
RECORD = "m = coterie.MultitaskPerceptron(); m.learn_one({'a': 1}, True, task=0); m.predict_one({'a': 1}, task=0); "


def loaded_after(*codes):
    """The heavy modules that a fresh interpreter has loaded after running each piece of code."""
    show = "import sys; print(*(name for name in sys.argv[1:] if name in sys.modules)); "
    program = [sys.executable, "-c", "".join(code + show for code in codes), *HEAVY]
    return [line.split() for line in subprocess.check_output(program, text=True).splitlines()]


def test_importing_the_package_brings_in_nothing_heavy_and_learning_a_record_no_scikit_learn():
    imported, learned = loaded_after("import coterie; ", RECORD)
    assert imported == []
    assert "sklearn" not in learned


def test_the_other_packages_are_light_too():
    names = ("tasks.relations", "data.readers", "evaluation.verdict", "datasets", "evaluation.report", "cli")
    (heavy,) = loaded_after("".join(f"import coterie.{name}; " for name in names))
    assert not set(heavy) & {"sklearn", "pandas", "polars", "plotly", "matplotlib", "river"}


def test_public_names():
    assert ct.__all__ == PUBLIC
    assert ct.__all__ == sorted(ct.__all__)
    for name in ct.__all__:
        assert getattr(ct, name).__doc__, f"{name} says nothing of itself"
    assert ct.__version__


def test_a_name_that_is_not_there():
    with pytest.raises(AttributeError, match="Nothing"):
        _ = ct.Nothing


def test_type_hints_come_along():
    assert (Path(ct.__file__).parent / "py.typed").exists()


def imported_by(path, names):
    """The modules of the package that a module imports, for type hints too."""
    package = (PACKAGE.name, *path.relative_to(PACKAGE).parts[:-1])
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            near = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
            whole = ".".join(filter(None, (near, node.module)))
            yield from ({f"{whole}.{alias.name}" for alias in node.names} | {whole}) & names


def test_no_module_imports_itself_in_the_end_not_even_for_type_hints():
    modules = [path for path in PACKAGE.rglob("*.py") if path.name != "__init__.py"]
    paths = {".".join((PACKAGE.name, *path.relative_to(PACKAGE).with_suffix("").parts)): path for path in modules}
    assert len(paths) > 100
    imports = {name: set(imported_by(path, set(paths))) - {name} for name, path in paths.items()}
    while free := {name for name, needed in imports.items() if not needed}:
        imports = {name: needed - free for name, needed in imports.items() if name not in free}
    assert not imports
