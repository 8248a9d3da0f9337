"""The pages of the interface, from the package itself: one for every public name, and the modules beside them."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from sphinx.ext import autosummary

import coterie

FOLDER = Path(__file__).resolve().parents[1] / "api"
KINDS = {  # the first module of each names its page
    "Online estimators": ("estimators", "models", "views"),
    "Bandits": ("bandits",),
    "Batch estimators": ("batch",),
    "Relations": ("tasks.relations", "tasks"),
    "Rules": ("updates.rules", "updates"),
    "Weight storage": ("updates.weights",),
    "Kernels": ("kernels",),
    "Potentials": ("updates.potentials",),
    "Budgets": ("updates.budgets",),
    "Query strategies": ("updates.query_strategies",),
    "Evaluation and files": ("evaluation", "data", "persistence"),
}
MODULES = (
    "coterie.evaluation.bounds",
    "coterie.datasets",
    "coterie.evaluation.explanation",
    "coterie.evaluation.report",
    "coterie.distributed",
    "coterie.spec",
    "coterie.evaluation.bounds.perceptron_bounds",
    "coterie.evaluation.bounds.budget_bounds",
    "coterie.data.errors",
    "coterie.evaluation.metrics",
    "coterie.data.readers",
    "coterie.evaluation.bounds.geometry_bounds",
    "coterie.evaluation.verdict",
    "coterie.evaluation.bounds.view_bounds",
    "coterie.evaluation.bounds.bandit_bounds",
)


# What `ct.name` reaches without an import of its own, and those of them whose names have pages.
SUBMODULES = tuple(name for name in coterie.__all__ if inspect.ismodule(getattr(coterie, name)))
ROOMS = ("bandits", "batch", "evaluation", "kernels", "tasks", "updates", "views")

DEFAULTS = ("AdaptiveSharingClassifier", "AdaptiveSharingRegressor")  # the first that a reader sees

TABLE = ".. autosummary::\n\n{}"
TREE = ".. toctree::\n   :hidden:\n\n{}"
CLASS = ".. autoclass:: {}\n   :members:\n   :inherited-members: BaseEstimator"
FUNCTION = ".. autofunction:: {}"
MODULE = ".. automodule:: {}"
NO_MODULE = ".. py:currentmodule:: None"  # what follows is called by its whole name
MEMBERS = "\n   :members:"


def public_names() -> dict[str, Any]:
    """What is called ``ct.NAME``, and ``ct.kernels.NAME`` where parts are in a room of their own."""
    found = {name: getattr(coterie, name) for name in coterie.__all__ if name not in SUBMODULES}
    for room in ROOMS:
        module = import_module(f"coterie.{room}")
        own = (name for name, made in vars(module).items() if getattr(made, "__module__", "") == module.__name__)
        for name in getattr(module, "__all__", None) or own:
            made = getattr(module, name)
            if not inspect.ismodule(made) and name not in found and not name.startswith("_"):
                found[f"{room}.{name}"] = made
    return found


def kind(made: Any) -> str:
    """The module of ``KINDS`` that something comes from."""
    module = made.__module__.removeprefix("coterie.")
    inside = [name for kinds in KINDS.values() for name in kinds if f"{module}.".startswith(f"{name}.")]
    return max(inside, key=len, default=module)


def headed(title: str, *blocks: str) -> str:
    """A page: a title and what stands below it."""
    return "\n\n".join([f"{title}\n{'=' * len(title)}", *blocks]) + "\n"


def entry(name: str, made: Any) -> str:
    """One public name in full."""
    return (CLASS if inspect.isclass(made) else FUNCTION).format(f"coterie.{name}")


def pages() -> Iterator[tuple[str, str]]:
    """Each page by name: one for each public name below one for its kind, and one for each module beside them.

    A package's page has what the package says of itself: its names have pages of their own.
    """
    public = public_names()
    missing = set(map(kind, public.values())) - {each for kinds in KINDS.values() for each in kinds}
    if missing:
        raise ValueError(f"docs/_ext/listing.py has no title for what comes from {', '.join(sorted(missing))}")
    for title, kinds in KINDS.items():
        names = [name for name, made in public.items() if kind(made) in kinds]
        names.sort(key=lambda name: name not in DEFAULTS)
        listed = "".join(f"   coterie.{name}\n" for name in names)
        packages = [
            MODULE.format(f"coterie.{each}") for each in kinds if each in SUBMODULES or each.startswith("updates.")
        ]
        yield kinds[0], headed(title, *packages, NO_MODULE, TABLE.format(listed), TREE.format(listed))
        yield from ((f"coterie.{name}", headed(name, NO_MODULE, entry(name, public[name]))) for name in names)
    for module in MODULES:
        is_package = hasattr(import_module(module), "__path__")
        yield module, headed(module, MODULE.format(module) + ("" if is_package else MEMBERS))


def write(name: str, text: str) -> str:
    """Write a page if it is new or changed; returns its name."""
    page = FOLDER / f"{name}.rst"
    if not page.exists() or page.read_text(encoding="utf-8") != text:
        page.write_text(text, encoding="utf-8")
    return name


def write_pages(app: Any, config: Any) -> None:
    """Write docs/api/, which git ignores."""
    FOLDER.mkdir(exist_ok=True)
    names = [write(*page) for page in pages()]
    top = [*(kinds[0] for kinds in KINDS.values()), *MODULES]
    for page in FOLDER.glob("*.rst"):
        if page.stem not in (*names, "index"):
            page.unlink()
    tree = "\n".join([".. toctree::", "   :maxdepth: 1", "", *(f"   {name}" for name in top)])
    gives = (
        "``import coterie as ct`` gives all names below the kinds, as they are called there, and the submodules "
        + ", ".join(f"``ct.{name}``" for name in SUBMODULES)
        + "; the other modules are imported by name."
    )
    write("index", headed("The interface", gives, tree))


def constructor(app: Any, what: str, name: str, obj: Any, options: Any, given: Any, returns: Any) -> Any:
    """The parameters of a class whose ``__new__`` takes whatever comes, as ``__init__`` names them."""
    if what != "class" or given != "(*args, **kwargs)":
        return given, returns
    found = inspect.signature(obj.__init__)
    plain = [each.replace(annotation=each.empty) for each in found.parameters.values() if each.name != "self"]
    return str(inspect.Signature(plain)), returns


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx."""
    autosummary.WELL_KNOWN_ABBREVIATIONS += ("Fig.", "ch.", "eq.")
    app.connect("autodoc-process-signature", constructor)
    app.connect("config-inited", write_pages)
    return {"parallel_read_safe": True}
