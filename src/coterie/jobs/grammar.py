"""A learner in words, as a tree: ``pa1(C=0.1, relation=graph(edges.csv))``.

    node     = name [ "(" argument, ... ")" ] | "[" node, ... "]"
    argument = [ name "=" ] node

Names are numbers, names of files or words, without quotes where they have none of ``( ) [ ] , =`` and no space.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

_TOKEN = re.compile(r"\s*(?:([()\[\],=])|\"([^\"]*)\"|'([^']*)'|([^\s()\[\],=\"']+))")


class SpecError(ValueError):
    r"""An error in a spec, which knows its place.

    Attributes
    ----------
    shown : tuple of str
        The spec, and a line with a caret under the place.

    Examples
    --------
    >>> print(*SpecError("no such relation", "pa1(grph)", 4).shown, sep="\n")
    pa1(grph)
        ^
    """

    def __init__(self, message: str, text: str, at: int) -> None:
        super().__init__(message)
        self.shown = (text, f"{' ' * at}^")

    def of(self, option: str) -> SpecError:
        """The same error of the option that has the spec."""
        made = SpecError(f"{option}: {self}", "", 0)
        made.shown = self.shown
        return made


@dataclass(frozen=True)
class Node:
    """A name with its arguments, or several nodes in brackets.

    Attributes
    ----------
    name : str
        Empty for brackets.
    arguments : tuple of Argument or None
        None where a name stands by itself.
    at, end : int
        Its place in the text.
    """

    name: str
    arguments: tuple[Argument, ...] | None
    at: int
    end: int

    @property
    def items(self) -> list[Node] | None:
        """The nodes in brackets."""
        return None if self.name else [each.node for each in self.arguments or ()]


class Argument(NamedTuple):
    """A node that is given to another one, by name or by place."""

    name: str | None
    node: Node


def parse(text: str) -> Node:
    """Return the tree of a spec.

    Raises
    ------
    SpecError
        Where it is none.

    Examples
    --------
    >>> parse("pa1(C=0.1, relation=graph(my edges.csv))")
    Traceback (most recent call last):
    coterie.jobs.grammar.SpecError: expected , or ) before 'edges.csv'; what holds spaces needs quotes
    """
    return _Parser(text).whole()


class _Parser:
    """Reads the tokens of a text one after the other."""

    def __init__(self, text: str) -> None:
        self._text, self._tokens, self._end = text, list(self._read(text)), 0

    def _read(self, text: str) -> Iterator[tuple[str, str, int]]:
        at, end = 0, len(text.rstrip())
        while at < end:
            found = _TOKEN.match(text, at)
            if found is None:
                raise SpecError("a quote is not closed", text, at + len(text[at:]) - len(text[at:].lstrip()))
            mark, kind = found[1] or "", found.lastindex or 0
            yield mark, found[kind], found.start(kind)
            at = found.end()
        yield "end", "", end

    def whole(self) -> Node:
        node = self._node()
        self._expect("end", "nothing more")
        return node

    def _node(self) -> Node:
        mark, word, at = self._tokens[0]
        if self._takes("["):
            return Node("", tuple(self._arguments("]", named=False)), at, self._end)
        if mark or not word:
            raise SpecError(f"expected a name{f', not {word!r}' if word else ''}", self._text, at)
        self._takes(mark)
        return Node(word, tuple(self._arguments(")")) if self._takes("(") else None, at, self._end)

    def _arguments(self, close: str, named: bool = True) -> Iterator[Argument]:
        while not self._takes(close):
            node = self._node()
            if named and node.arguments is None and self._takes("="):
                yield Argument(node.name, self._node())
            else:
                yield Argument(None, node)
            if not self._takes(","):
                self._expect(close, f", or {close}")
                return

    def _takes(self, mark: str) -> bool:
        if self._tokens[0][0] != mark:
            return False
        _, word, at = self._tokens.pop(0)
        self._end = at + len(word)
        return True

    def _expect(self, mark: str, said: str) -> None:
        if self._takes(mark):
            return
        _, word, at = self._tokens[0]
        spaces = "" if self._tokens[0][0] else "; what holds spaces needs quotes"
        raise SpecError(f"expected {said}{f' before {word!r}' if word else ' at the end'}{spaces}", self._text, at)


def read_file(path: str) -> str:
    """Return the spec that a TOML file holds: ``name`` and arguments, which may be tables of the same form.

    Raises
    ------
    ValueError
        It cannot be read, or has no name.
    """
    import tomllib

    try:
        return written(tomllib.loads(Path(path).read_text(encoding="utf-8")))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def written(value: Any) -> str:
    """Return data as a spec.

    Examples
    --------
    >>> written({"name": "pa1", "C": 0.1, "relation": {"name": "clusters", "groups": "my regions.csv"}})
    "pa1(C=0.1, relation=clusters(groups='my regions.csv'))"
    """
    if isinstance(value, dict):
        if "name" not in value:
            raise ValueError(f"a table without a name: expected name = '...' beside {', '.join(value) or 'arguments'}")
        given = ", ".join(f"{name}={written(held)}" for name, held in value.items() if name != "name")
        return f"{value['name']}({given})" if given else str(value["name"])
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(written, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.17g}" if float(f"{value:g}") != value else f"{value:g}"
    text = str(value)
    try:
        parse(text)
    except SpecError:
        return f'"{text}"' if "'" in text else f"'{text}'"
    return text
