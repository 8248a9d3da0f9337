"""The pages of the interface, from the package itself: every public name, and the modules beside them."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sphinx.ext import autosummary

import coterie

FOLDER = Path(__file__).resolve().parents[1] / "api"
KINDS = {
    "Learners that go along a stream": ("online", "mixture"),
    "Estimators for what fits in memory": ("batch",),
    "Relations": ("relations",),
    "Rules": ("rules",),
    "What is kept of the weights": ("hypotheses", "wrappers"),
    "Kernels": ("kernels",),
    "Budgets": ("budgets",),
    "Chances of asking": ("asking",),
    "Evaluation and files": ("streams", "persistence"),
}
MODULES = (
    "coterie.budgets",
    "coterie.datasets",
    "coterie.explanation",
    "coterie.report",
    "coterie.spec",
    "coterie.streams.bounds",
    "coterie.streams.budget_bounds",
    "coterie.streams.errors",
    "coterie.streams.metrics",
    "coterie.streams.readers",
    "coterie.streams.second_order_bounds",
    "coterie.streams.support",
    "coterie.streams.verdict",
    "coterie.streams.view_bounds",
)


TABLE = ".. autosummary::\n\n{}"
CLASS = ".. autoclass:: {}\n   :members:\n   :inherited-members: BaseEstimator"
FUNCTION = ".. autofunction:: {}"
MODULE = ".. automodule:: {}\n   :members:"


def kind(name: str) -> str:
    """The package below coterie that a public name comes from."""
    return str(getattr(coterie, name).__module__.split(".")[1])


def headed(title: str, *blocks: str) -> str:
    """A page: a title and what stands below it."""
    return "\n\n".join([f"{title}\n{'=' * len(title)}", *blocks]) + "\n"


def entry(name: str) -> str:
    """One public name in full."""
    form = CLASS if inspect.isclass(getattr(coterie, name)) else FUNCTION
    return form.format(f"coterie.{name}")


def pages() -> Iterator[tuple[str, str]]:
    """Each page by name: one for each kind of public names, and one for each module beside them."""
    missing = {kind(name) for name in coterie.__all__} - {each for kinds in KINDS.values() for each in kinds}
    if missing:
        raise ValueError(f"docs/_ext/listing.py has no title for what comes from {', '.join(sorted(missing))}")
    for title, kinds in KINDS.items():
        names = [name for name in coterie.__all__ if kind(name) in kinds]
        table = TABLE.format("".join(f"   coterie.{name}\n" for name in names))
        yield kinds[0], headed(title, table, *map(entry, names))
    for module in MODULES:
        yield module, headed(module, MODULE.format(module))


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
    tree = "\n".join([".. toctree::", "   :maxdepth: 1", "", *(f"   {name}" for name in names)])
    gives = (
        "``import coterie as ct`` gives all names on the pages of kinds; the modules beside them are imported by name."
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
