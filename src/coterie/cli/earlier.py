"""Commands as versions before 0.3 took them, in the words of this one; they work until 0.4."""

from __future__ import annotations

import shlex

from .failures import earlier

#: Options that have other names now, by command.
_RENAMED = {
    **{command: {"--model": "--output"} for command in ("learn", "compare", "demo")},
    "relations": {"--plot": "--output"},
}
_ASKING = {
    "--query": "--output",
    "--model": "--save",
    "--label-budget": "--budget",
    "--label-window": "--window",
    "--label-per-task": "--per-task",
    "--ask-seed": "--seed",
}


def rewritten(words: list[str]) -> list[str]:
    """Return the words of a command as they are to be written now; a line says so where they are others.

    Examples
    --------
    >>> rewritten(["predict", "today.csv", "--model", "clicks.coterie"])
    ['predict', 'clicks.coterie', 'today.csv']
    """
    if not words:
        return words
    command, *given = [part for word in words for part in _split(word)]
    if command == "predict" and "--model" in given[:-1]:
        model = _taken(given, "--model")
        return _told(["predict", "--model"], ["predict", model, *given], "predict MODEL FILE")
    if command == "learn" and "--query" in given[:-1] and "--from" in given[:-1]:
        return _asks(given)
    names = _RENAMED.get(command, {})
    if not names.keys() & set(given):
        return words
    for old in names.keys() & set(given):
        earlier(f"{command} {old}", f"{names[old]} (-o)")
    return [command, *(names.get(word, word) for word in given)]


def _asks(given: list[str]) -> list[str]:
    """Return ``learn --from MODEL --query OUT`` as the command that asks."""
    model, by, c = (_taken(given, name) for name in ("--from", "--ask", "--ask-c"))
    how = ["--by", f"{by or 'margin'}({c})" if c else by] if by or c else []
    now = ["ask", model, *(_ASKING.get(word, word) for word in given), *how]
    return _told(["learn", "--query"], now, shlex.join(now))


def _told(before: list[str], now: list[str], shown: str) -> list[str]:
    earlier(" ".join(before), f"coterie {shown}")
    return now


def _taken(words: list[str], name: str) -> str:
    """Take an option with its value out of some words; empty where it is not there."""
    if name not in words[:-1]:
        return ""
    at = words.index(name)
    value = words[at + 1]
    del words[at : at + 2]
    return value


def _split(word: str) -> list[str]:
    """Split ``--name=value``, as one of the options that are looked at."""
    name, equals, value = word.partition("=")
    known = {"--model", "--plot", "--export", "--out", "--from", "--ask", "--ask-c", *_ASKING}
    return [name, value] if equals and name in known else [word]
