"""Which column of a file, or which of its namespaces, belongs to which view: decided once, from its first records."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from coterie.streams.encoding import Encoder
from coterie.streams.errors import FieldError, InputError
from coterie.streams.faults import require_column
from coterie.streams.view_encoding import ViewColumns, ViewEncoder, require_one_space

if TYPE_CHECKING:
    from coterie.streams.wishes import Kinds, Wishes

_MAGIC = re.compile(r"[*?\[]")
NO_VIEW = "it is in no view"


def named_views(words: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Views as they are written: ``NAME=COLUMN,COLUMN``, or a column by itself, which is a view of its name.

    Raises
    ------
    ValueError
        If a view has no name or no column, or is given twice.

    Examples
    --------
    >>> named_views(["audio=pitch,mfcc_*", "title"])
    {'audio': ('pitch', 'mfcc_*'), 'title': ('title',)}
    """
    found: dict[str, tuple[str, ...]] = {}
    for word in words:
        name, equals, columns = word.partition("=")
        given = tuple(filter(None, columns.split(","))) if equals else (name,)
        if not name or not given:
            raise FieldError("{} is {word!r}; expected NAME=COLUMN,COLUMN,... or one column", "view", word=word)
        if name in found:
            raise ValueError(f"the view {name!r} is given twice: name all of its columns together, with commas between")
        found[name] = given
    return found


def decide_views(kinds: Kinds, wishes: Wishes, path: str | None = None) -> tuple[ViewEncoder, dict[str, str]]:
    """Make the encoder of a table's views, and say which columns were dropped and why.

    Raises
    ------
    InputError
        A column that was named does not exist, is in two views, or a view has no column left.
    ValueError
        If views of different sizes are to lie in one space.
    """
    given = wishes.named_kinds
    for name in (*filter(None, (wishes.label,)), *wishes.ignored, *given):
        require_column(name, kinds, path)
    out = dict.fromkeys(wishes.ignored, "it was to be ignored")
    free = [name for name in kinds if name != wishes.label and name not in out]
    views = _resolved(wishes.views or {}, list(kinds), free, "column", path)
    used = {name: given.get(name, kinds[name][0]) for columns in views.values() for name in columns}
    held = {view: [(name, kind) for name in names if (kind := used[name])] for view, names in views.items()}
    for view, columns in held.items():
        if not columns:
            why = "; ".join(f"{name!r}: {kinds[name][1] or out.get(name)}" for name in views[view])
            raise InputError(f"the view {view!r} has no column left ({why})", path)
    reasons = {name: kinds[name][1] if name in used else NO_VIEW for name in free if not used.get(name)}
    return _encoder(held, wishes, "columns"), out | reasons


def decide_namespaces(found: Sequence[str], wishes: Wishes, path: str) -> tuple[ViewEncoder, dict[str, str]]:
    """As `decide_views`, of the namespaces that the first rows of Vowpal Wabbit text have."""
    named = list(filter(None, found))
    views = _resolved(wishes.views or {}, named, named, "namespace", path)
    used = {name for names in views.values() for name in names}
    dropped = {name or "(no namespace)": NO_VIEW for name in found if name not in used}
    return _encoder({view: [(name, "") for name in names] for view, names in views.items()}, wishes, "vw"), dropped


def _resolved(
    views: Mapping[str, Sequence[str]], names: Sequence[str], free: Sequence[str], what: str, path: str | None
) -> dict[str, list[str]]:
    """The names in each view, patterns filled in; a pattern by itself is a view for each name that it fits."""
    made: dict[str, list[str]] = {}
    owner: dict[str, str] = {}
    for view, wished in views.items():
        found = dict.fromkeys(name for wish in wished for name in _fitting(wish, view, names, free, what, path))
        apart = tuple(wished) == (view,) and view not in names
        for name in found:
            if name in owner:
                raise InputError(f"the {what} {name!r} is in two views, {owner[name]!r} and {view!r}", path)
            owner[name] = name if apart else view
        for called, columns in [(name, [name]) for name in found] if apart else [(view, list(found))]:
            if called in made:
                raise InputError(f"two views are called {called!r}", path)
            made[called] = columns
    return made


def _fitting(
    wish: str, view: str, names: Sequence[str], free: Sequence[str], what: str, path: str | None
) -> Sequence[str]:
    if wish in names or not _MAGIC.search(wish):
        require_column(wish, names, path, what)
        return [wish]
    found = [name for name in free if fnmatchcase(name, wish)]
    if not found:
        raise InputError(f"no {what} is like {wish!r}, which the view {view!r} asks for", path)
    return found


def _encoder(held: Mapping[str, Sequence[tuple[str, str]]], wishes: Wishes, source: str) -> ViewEncoder:
    names = list(held)
    if wishes.one_space:
        require_one_space(True, names, [len(columns) for columns in held.values()])
        _require_one_kind(held)
    parts = []
    for view, columns in held.items():
        called = held[names[0]] if wishes.one_space else columns
        encoder = Encoder(
            called if source == "columns" else [],
            label=wishes.label,
            bits=wishes.bits,
            constant=wishes.constant,
            scale=wishes.scale,
            source=source,
        )
        parts.append(ViewColumns(view, tuple(name for name, _ in columns), encoder, tuple(name for name, _ in called)))
    return ViewEncoder(parts, label=wishes.label)


def _require_one_kind(held: Mapping[str, Sequence[tuple[str, str]]]) -> None:
    for columns in zip(*held.values(), strict=True):
        if len({kind for _, kind in columns}) > 1:
            shown = ", ".join(f"{name!r} is {kind}" for name, kind in columns)
            raise ValueError(f"columns in the same place of all views must be of one kind in one space: {shown}")
