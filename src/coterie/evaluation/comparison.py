"""Several learners over one pass of the same stream."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from coterie.evaluation.working import working_seconds
from coterie.inputs.block import Block
from coterie.wording import html_table, spoken, table

from .constant import CONSTANT, Constant, with_constant
from .metrics import evaluate, measured, written
from .progressive import CHUNK, Stream, Trace, blocks_alone, blocks_of, length_of
from .stream_model import stream_model_of
from .verdict import Verdict
from .verdict import verdict as judge


@dataclass(frozen=True, repr=False)
class Comparison:
    """The traces of several learners over the same rounds.

    Attributes
    ----------
    traces : dict of str to Trace
        By the learner's name, all over the same rounds, and that of the ``"constant"``: the more frequent label so far,
        of numbers their mean. Where a learner's margin is exactly zero, it is taken to predict what the constant does.
    models : dict of str to online classifier
        The learners after the pass, ready to predict or to be saved.
    seconds : dict of str to float
        CPU time each took, without reading and compiling.
    reference_names : tuple of two str
        What learners are judged against: what one has without learning together, and one model for all.
    """

    traces: dict[str, Trace]
    models: dict[str, Any]
    seconds: dict[str, float]
    reference_names: tuple[str, str] = ("independent", "pooled")

    @property
    def best(self) -> str:
        """The learner with the least error; of several, the first."""
        return min(self.models, key=lambda name: self.traces[name].error)

    def verdict(self, learner: str | None = None, against: str | None = None, confidence: float = 0.95) -> Verdict:
        """Judge one learner against another: whether it helped, and on which tasks.

        Parameters
        ----------
        learner : str, optional
            Its name; the one with the least error, but that which it is judged against, where it is not given.
        against : str, optional
            The other's name; what one has without learning together, one model per task, where it is not given.
        confidence : float
            As in :func:`coterie.evaluation.verdict.verdict`.

        Returns
        -------
        Verdict
            ``print`` says it in a few sentences.

        Raises
        ------
        ValueError
            For a name that is none of a learner, or the same twice.

        Examples
        --------
        >>> import coterie as ct
        >>> X, y, users = [[1.0], [2.0], [-1.0], [-3.0]], [1, 1, 0, 0], ["a", "b", "a", "b"]
        >>> found = ct.compare({"half": ct.MultitaskPerceptron()}, X, y, task=users)
        >>> found.verdict()
        <Verdict on 2 tasks: 0 helped, 0 hurt, 2 unclear>
        """
        other = against or self.reference_names[0]
        chosen = learner or self._best_beside(other)
        for name in (chosen, other):
            if name not in self.traces:
                raise ValueError(f"there is no learner {name!r} among {sorted(self.traces)}")
        if chosen == other:
            raise ValueError(f"{chosen!r} cannot be judged against itself: name another learner")
        told = judge(self.traces[chosen], self.traces[other], confidence, self.traces.get(CONSTANT))
        return replace(told, name=spoken(chosen), against=spoken(other))

    def _best_beside(self, other: str) -> str:
        return min(
            (name for name in self.models if name != other), key=lambda name: self.traces[name].error, default=other
        )

    def report(self, path: str | os.PathLike[str], *, learner: str | None = None, title: str | None = None) -> Path:
        """Write the comparison as one HTML page that works offline: see :func:`coterie.report.write_report`.

        Parameters
        ----------
        path : path-like
            The file; an existing one is replaced at once, or stays as it was if writing fails.
        learner : str, optional
            The learner the page is about, as for :meth:`verdict`.
        title : str, optional
            The page's heading.

        Returns
        -------
        Path
            ``path``.

        Raises
        ------
        ImportError
            plotly is not installed.
        ValueError
            For a name that is none of a learner.
        OSError
            The file cannot be written.
        """
        from coterie.report import write_report

        return write_report(path, self, learner=learner, title=title)

    def __repr__(self) -> str:
        """The table of learners."""
        return "\n".join(table(*self._table()))

    def _repr_html_(self) -> str:
        """The same as notebooks show it."""
        return html_table(*self._table())

    def _table(self) -> tuple[list[str], list[list[str]]]:
        found = {name: evaluate(trace) for name, trace in self.traces.items()}
        measures = measured(found.values())
        words = next(iter(found.values())).words
        heads = ["learner", words.error, *(head for head, _, _ in measures)]
        return heads, [
            [name, words.value(each.micro["error"], 2), *written(each, measures)] for name, each in found.items()
        ]


def compare(
    models: Mapping[str, Any],
    X: Any,
    y: Any = None,
    *,
    task: Any = None,
    tasks: Sequence[Hashable] | None = None,
    delay: int = 0,
    sample_weight: Any = None,
    on_round: Callable[[Mapping[str, Trace]], None] | None = None,
) -> Comparison:
    """Let several learners go along one stream side by side, each predicting every label before it sees it.

    Parameters
    ----------
    models : mapping of name to online classifier
        Changed in place. Learners ``"independent"`` and ``"pooled"`` are added if they are not there: what one has
        without learning together is part of every comparison. They are made like the first learner given. For learners
        of several views they are ``"NAME alone"`` for every view and ``"side by side"``, and learners are judged
        against the view that alone has the least error in the end. Beside :class:`HeterogeneousMultitaskPerceptron`
        there is no model for all: its tasks have different features.
    X, y, task, tasks, delay, sample_weight
        As in :func:`progressive_validation`; blocks are read once for all learners.
    on_round : callable, optional
        Called with the traces of each stretch of rounds as it is finished.

    Returns
    -------
    Comparison

    Raises
    ------
    TypeError
        For a model that learns no stream.
    ValueError
        For no model, or one called ``"constant"``.

    Examples
    --------
    >>> import coterie as ct
    >>> X, y, users = [[1.0], [2.0], [-1.0], [-3.0]], [1, 1, 0, 0], ["a", "b", "a", "b"]
    >>> found = ct.compare({"half": ct.MultitaskPerceptron()}, X, y, task=users)
    >>> {name: trace.mistakes for name, trace in found.traces.items()}
    {'half': 1, 'independent': 2, 'pooled': 1, 'constant': 3}
    """
    if not hasattr(models, "items"):
        raise TypeError(f"models must be a dictionary from names to models, got {type(models).__name__}")
    for name, model in models.items():
        stream_model_of(model, f"models[{name!r}]")
    if CONSTANT in models:
        raise ValueError(f"models: {CONSTANT!r} is the name of a guess that is always compared, expected another one")
    seen, X = _first_of(models, X, y)
    models = with_baselines(models, seen)
    rounds, tasks = _rounds(models, X, y, task, tasks, sample_weight)
    streams = {name: Stream(stream_model_of(model), tasks, delay, length_of(y)) for name, model in models.items()}
    seconds, constant = dict.fromkeys(models, 0.0), Constant(delay)
    for blocks in rounds:
        _go(streams, seconds, blocks)
        if on_round is not None and len(blocks[0]):
            on_round(with_constant({name: stream.latest() for name, stream in streams.items()}, constant))
    for name, stream in streams.items():
        seconds[name] += _timed(stream.finish)
    traces = with_constant({name: stream.trace() for name, stream in streams.items()}, Constant(delay))
    like = next(iter(models.values()))
    reference_names = like.reference_names({name: traces[name].error for name in models})
    return Comparison(traces, models, seconds, reference_names)


def _first_of(models: Mapping[str, Any], X: Any, y: Any) -> tuple[Any, Any]:
    """The records, or the first block's where X is a stream of blocks; and X, with that block put back in front."""
    if y is not None or not models:
        return X, X
    blocks = blocks_alone(X)
    first = next(blocks, None)
    return (None, ()) if first is None else (first.X, chain([first], blocks))


def _rounds(
    models: Mapping[str, Any], X: Any, y: Any, task: Any, tasks: Sequence[Hashable] | None, sample_weight: Any
) -> tuple[Iterable[Sequence[Block]], Sequence[Hashable]]:
    """The stream in blocks, one for each learner, and the tasks known from its start.

    Blocks of a reader are the same for all. Of arrays every learner takes note itself: of names and types.
    """
    if y is None:
        return ([block] * len(models) for block in X), tasks or ()
    read = [blocks_of(stream_model_of(model), X, y, task, tasks, CHUNK, sample_weight) for model in models.values()]
    return zip(*(blocks for blocks, _ in read), strict=True), read[0][1]


def _go(streams: Mapping[str, Stream], seconds: dict[str, float], blocks: Sequence[Block]) -> None:
    for (name, stream), block in zip(streams.items(), blocks, strict=True):
        seconds[name] += _timed(partial(stream.go, block))


def _timed(work: Callable[[], None]) -> float:
    start = working_seconds()
    work()
    return working_seconds() - start


def with_baselines(models: Mapping[str, Any], seen: Any = None) -> dict[str, Any]:
    """The learners, with the baselines of the first of them where they are missing.

    ``seen`` are records, or the first of them, where the baselines depend on what these are.

    Raises
    ------
    ValueError
        If there is no learner to compare.
    """
    if not models:
        raise ValueError("compare needs at least one learner")
    like = next(iter(models.values()))
    return dict(models) | {name: made for name, made in like.baselines(seen).items() if name not in models}
