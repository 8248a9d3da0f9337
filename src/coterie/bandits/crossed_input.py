"""Input of bandits: products of the context's features (and a constant) with the action's features.

A context and an action with features are dictionaries, read as by an estimator: strings are categories, dates and
missing values have several features. With scaling, numbers of contexts are converted to running z-scores; numbers of
actions are divided by their running root mean square, because a z-score would remove a feature that is 1 in every
action. Products are then scaled to unit length, if the options say so. An action that is a label is a vector with a
single 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np

from coterie import spec
from coterie._compiled.core.arrays import enlarged
from coterie._compiled.core.checks import MOST_FEATURES, require
from coterie._compiled.core.dictionaries import read_dictionary, with_space
from coterie._compiled.core.records import UNSEEN, Csr
from coterie._compiled.primal.calls import prepared
from coterie._compiled.text.crossing import Pairs, cross
from coterie._compiled.trees import Arrays, strip_prefix
from coterie.data import tabular
from coterie.data.feature_keys import spell
from coterie.data.input import Input, InputOptions, ReadContext, Records
from coterie.data.input_encoders import InputEncoder, PreparedDictEncoder
from coterie.data.label_encoders import LabelEncoder
from coterie.data.preprocessing import CONSTANT, Preparation
from coterie.models.contract import InputShape
from coterie.models.multiview.vocabularies import Vocabulary, concatenated, vocabulary_from_json
from coterie.models.task_registry import TaskRegistry
from coterie.types import AnyLabels, AnyRecords, AnyTasks, Array, Fields, Floats, Json, Label, Learning, Record

#: The separator between the name of a context's feature and that of an action's.
SEPARATOR = "^"

Action = Hashable | Record


class Taken(Record):
    """A context together with the action chosen in it. As a mapping it has the features of the context."""

    __slots__ = ("action", "x")

    def __init__(self, x: Record, action: Action) -> None:
        self.x, self.action = x, action

    def __getitem__(self, name: Hashable) -> object:
        """Return a feature of the context."""
        return self.x[name]

    def __iter__(self) -> Iterator[Hashable]:
        """Iterate over the names of the context's features."""
        return iter(self.x)

    def __len__(self) -> int:
        """Return the number of the context's features."""
        return len(self.x)


class Sizes:
    """The running root mean square of each feature of actions, by which these features are divided.

    Attributes
    ----------
    sums : ndarray, shape (n, 2)
        The number of values of each feature and the sum of their squares.
    """

    def __init__(self) -> None:
        self.sums = np.zeros((16, 2))
        self._before: list[tuple[Array, Array]] = []

    def scaled(self, rows: Csr, learning: bool) -> Csr:
        """Divide values by the running root mean square of their feature.

        If ``learning``, these values are included first.

        A new feature is divided by its own size.
        """
        values, features = rows.values, rows.features
        seen = features < UNSEEN
        self.sums = enlarged(self.sums, int(features[seen].max(initial=-1)) + 1)
        if learning:
            self._before.append((features, self.sums[features]))
            np.add.at(self.sums, features, np.column_stack([np.ones(len(values)), values * values]))
        counts, squares = np.where(seen[:, None], self.sums[np.where(seen, features, 0)], 0.0).T
        # no division by a mean of no values: the first one is its own root mean square
        squares, counts = np.where(counts > 0.0, squares, values * values), np.maximum(counts, 1.0)
        return rows._replace(values=values * np.sqrt(counts / np.where(squares > 0.0, squares, 1.0)))

    def snapshot(self) -> Callable[[], None]:
        """Return a function that restores the current sums."""
        self._before = []
        return self._undo

    def _undo(self) -> None:
        while self._before:
            features, sums = self._before.pop()
            self.sums[features] = sums


class _Saved(msgspec.Struct, forbid_unknown_fields=True):
    """The saved encoding of contexts and actions; actions are labels or dictionaries."""

    contexts: Json
    actions: Json
    labels: list[Label]


class CrossedForm(InputEncoder):
    """Encoder of a context and an action as one row, which has the products of their features.

    Attributes
    ----------
    contexts, actions : PreparedDictEncoder
        The encoders of contexts and of actions that are dictionaries; a context has a constant.
    labels : dict
        The numbers of actions that are labels.
    pairs : Pairs
        The columns of products.
    """

    def __init__(self, options: InputOptions) -> None:
        scale = options.scale or "none"
        standard = "standard" if scale in ("standard", "auto") else "none"
        self._unit = scale in ("unit", "auto")
        self.contexts = PreparedDictEncoder(Vocabulary(), Preparation(True, standard, log=options.log))
        self.actions = PreparedDictEncoder(Vocabulary(), Preparation(False, "none"))
        self.contexts.counts_unseen = self.actions.counts_unseen = True
        self.sizes = Sizes() if standard == "standard" else None
        self.labels: dict[Hashable, int] = {}
        # the pair of the constant of all records is one that no features have
        self._constant = 0 if options.intercept else -1
        self.pairs = Pairs.from_known(np.full((1 if options.intercept else 0, 2), -1, np.int32))
        self._cross = prepared(cross)
        self._one = Csr(np.ones(1), np.zeros(1, np.int32), np.array([0, 1]))

    def __getstate__(self) -> Json:
        """Return the state without the compiled function, for copies and :mod:`pickle`."""
        return {name: value for name, value in self.__dict__.items() if name != "_cross"}

    def __setstate__(self, state: Json) -> None:
        self.__dict__.update(state)
        self._cross = prepared(cross)

    @property
    def constant_column(self) -> int | None:
        """The index of the constant column."""
        return None if self._constant < 0 else self._constant

    @property
    def features(self) -> int:
        """The number of columns."""
        return len(self.pairs)

    # -- rows -----------------------------------------------------------------------------------------------------

    def rows(self, x: Record, actions: Sequence[Action], learning: bool = False) -> Csr:
        """Encode the products of the features of context x with those of each action: one row per action."""
        left, _ = self.contexts.read_one(x, learning)
        unseen = np.zeros(0 if learning else len(actions))
        return self._crossed(left, self._vectors(actions, learning), learning, unseen)

    def rows_and_unseen(self, x: Record, actions: Sequence[Action]) -> tuple[Csr, Floats]:
        """Encode rows to predict. Also return the squared norm of the products without a column, for each row."""
        left, _ = self.contexts.read_one(x, False)
        unseen = np.zeros(len(actions))
        return self._crossed(left, self._vectors(actions, False), False, unseen), unseen

    def _crossed(self, left: Csr, right: Csr, learning: bool, unknown: Floats) -> Csr:
        n, K = len(left.values) * len(right.values), len(right.starts) - 1
        if learning:
            self.pairs = self.pairs.with_room(n)
        values, features, starts = np.empty(n + K), np.empty(n + K, np.int32), np.zeros(K + 1, np.int64)
        how = self._constant, self._unit, learning
        self._cross(self.pairs, left, right, *how, values, features, starts, unknown)
        return Csr(values[: starts[K]], features[: starts[K]], starts)

    def known_row(self, record: Taken) -> Csr | None:
        """Encode a context and an action if all their features are known; return None if one is new.

        It changes nothing, and takes a third of the time of encoding with new features.
        """
        x, j, words = record.x, None, self.contexts
        if (
            type(x) is dict
            and "" not in x
            and not words.dates
            and not words.preparation.log
            and not isinstance(record.action, Mapping)
        ):
            j = self.labels.get(record.action)
        if j is None:
            return None
        n, scales = len(x), words.preparation
        entries = read_dictionary(x, words.vocabulary.numbers, scales.plain)
        if entries is None or len(entries[0]) < n:
            return None
        undo = scales.snapshot()
        left = scales.entries((*with_space(*entries, n, scales.constant), n, 0), learning=True)
        if left is None:
            return None
        n = len(left.values)
        self._one.features[0] = j
        values, features, starts = np.empty(n + 1), np.empty(n + 1, np.int32), np.zeros(2, np.int64)
        how = self._constant, self._unit, False
        self._cross(self.pairs, left, self._one, *how, values, features, starts, np.zeros(0))
        # a product has no column yet: the slow path has to add it
        if starts[1] < n + (self._constant >= 0):
            undo()
            return None
        return Csr(values[: starts[1]], features[: starts[1]], starts)

    def _vectors(self, actions: Sequence[Action], learning: bool) -> Csr:
        """Convert actions, all labels or all dictionaries, to feature vectors."""
        featured = isinstance(actions[0], Mapping)
        if self.labels if featured else self.actions.vocabulary:
            kinds = ("labels", "dictionaries of features")
            raise ValueError(f"actions so far were {kinds[not featured]}, but these are {kinds[featured]}")
        if featured:
            rows = concatenated(
                [self.actions.read_one(action, learning)[0] for action in actions if isinstance(action, Mapping)]
            )
            return rows if self.sizes is None else self.sizes.scaled(rows, learning)
        if learning:
            for label in actions:
                self.labels.setdefault(label, len(self.labels))
        numbers = [self.labels.get(label, -1) for label in actions]
        return Csr(np.ones(len(actions)), np.array(numbers, np.int32), np.arange(len(actions) + 1))

    def read(self, X: Sequence[Taken], learning: Learning) -> tuple[Csr, int]:
        """Encode contexts with their chosen actions; return the rows and their number of columns."""
        learned = np.broadcast_to(learning, len(X)).tolist()
        with ExitStack() as stack:
            if any(learned) and len(X) != 1:
                for words in (self.contexts, self.actions):
                    stack.enter_context(words.preparation.as_one())
            rows = [self._numbered(t, record, learned[t]) for t, record in enumerate(X)]
        return concatenated(rows), max(self.features, 1)

    def _numbered(self, t: int, record: Taken, learning: bool) -> Csr:
        try:
            return self.rows(record.x, [record.action], learning)
        except (ValueError, TypeError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(f"record {t} (from 0): {error}") from None

    def read_one(self, x: Any, learning: bool) -> tuple[Csr, int]:
        """Encode one context with its chosen action; return the row and its number of columns."""
        return self.rows(x.x, [x.action], learning), max(self.features, 1)

    # -- names ----------------------------------------------------------------------------------------------------

    @property
    def feature_names(self) -> list[str]:
        """The names of all columns."""
        return [str(name) for name in self.entry_names(range(self.features), None)]

    def entry_names(self, columns: Sequence[int], x: Record | None) -> list[Hashable]:
        """Return the names of the products in these columns."""
        contexts = self.contexts.name_second_columns(list(self.contexts.vocabulary.numbers))
        actions = list(self.actions.vocabulary.numbers)
        labels = [spell(label) for label in self.labels]
        named: list[Hashable] = []
        for column in columns:
            i, j = self.pairs.known[column].tolist()
            action = labels[j] if labels else actions[j] if actions else ""
            named.append(CONSTANT if i < 0 else f"{contexts[i]}{SEPARATOR}{action}")
        return named

    # -- refused records, and files -------------------------------------------------------------------------------

    def snapshot(self) -> Callable[[], None]:
        """Return a function that restores the current vocabularies, moments and pairs."""
        known, labels = self.features, len(self.labels)
        noting = [self.contexts, *([] if labels else [self.actions, self.sizes])]
        undoing = [part.snapshot() for part in noting if part is not None]

        def undo() -> None:
            for part in undoing:
                part()
            self.pairs = self.pairs.cut(known)
            while len(self.labels) > labels:
                self.labels.popitem()

        return undo

    def to_saved(self) -> tuple[Json, Arrays]:
        """Return the state as JSON data and named arrays."""
        (contexts, of_contexts), (actions, of_actions) = self.contexts.to_saved(), self.actions.to_saved()
        data = {"contexts": contexts, "actions": actions, "labels": list(self.labels)}
        arrays = {f"preparation.contexts.{name}": array for name, array in of_contexts.items()}
        arrays |= {f"preparation.actions.{name}": array for name, array in of_actions.items()}
        arrays["preparation.pairs"] = self.pairs.known[: self.features].copy()
        if self.sizes is not None:
            vectors = len(self.actions.vocabulary)
            arrays["preparation.sizes"] = enlarged(self.sizes.sums, vectors)[:vectors].copy()
        return {"crossing": data}, arrays

    def restore(self, data: Json, arrays: Arrays) -> None:
        """Restore the encoder from the result of :meth:`to_saved`; raise ValueError for invalid data."""
        saved, own = msgspec.convert(data, _Saved), strip_prefix(arrays, "preparation.")
        self.contexts = self._restored(self.contexts, saved.contexts, strip_prefix(own, "contexts."))
        self.actions = self._restored(self.actions, saved.actions, strip_prefix(own, "actions."))
        labels = spec.labels_of(saved.labels)
        self.labels = {label: j for j, label in enumerate(labels)}
        vectors = len(self.actions.vocabulary)
        require(len(self.labels) == len(labels), "an action occurs twice")
        require(not (labels and vectors), "actions are labels and dictionaries")
        pairs, first = own["pairs"], self._constant + 1
        sound = pairs.dtype == np.int32 and pairs.ndim == 2 and pairs.shape[1] == 2 and len(pairs) <= MOST_FEATURES
        require(
            sound and len(pairs) >= first and bool(np.all(pairs[:first] == -1)), "the columns of products are not pairs"
        )
        wide = np.array([len(self.contexts.vocabulary), len(labels) or vectors])
        within = bool(np.all((pairs[first:] >= 0) & (pairs[first:] < wide)))
        require(within and len(np.unique(pairs, axis=0)) == len(pairs), "a pair is not of a context and an action")
        self.pairs = Pairs.from_known(pairs)
        if self.sizes is not None:
            sums = np.array(own["sizes"], np.float64)
            require(
                sums.shape == (vectors, 2) and bool(np.all(sums >= 0.0) & np.isfinite(sums).all()),
                "the counts and sums of the actions' numbers are not finite, not positive, or of the wrong shape",
            )
            self.sizes.sums = enlarged(sums, 16)

    @staticmethod
    def _restored(words: PreparedDictEncoder, data: Json, arrays: Arrays) -> PreparedDictEncoder:
        names = vocabulary_from_json(msgspec.convert(data["view"], Json))
        restored = PreparedDictEncoder.restore(names, data["preparation"], strip_prefix(arrays, "preparation."))
        same = all(
            getattr(restored.preparation, name) == getattr(words.preparation, name)
            for name in ("constant", "standardised", "unit", "log")
        )
        require(same, "the preprocessing of contexts differs from the parameters")
        restored.counts_unseen = True
        return restored


def with_unseen(rows: Csr, squares: Floats) -> Csr:
    """Append to each row a feature without a column; ``squares`` are the squares of its values."""
    ends = rows.starts[1:]
    values, columns = np.insert(rows.values, ends, np.sqrt(squares)), np.insert(rows.features, ends, UNSEEN)
    return Csr(values, columns.astype(np.int32), rows.starts + np.arange(len(rows.starts)))


class CrossedFastPath:
    """The prepared calls that learn single choices with known features and tasks."""

    def __init__(self, population: TaskRegistry, form: CrossedForm) -> None:
        self._population, self._form = population, form

    def score(self, x: Taken, task: Hashable) -> float:
        """Return NaN: actions are scored together, elsewhere."""
        return math.nan

    def learn(self, x: Taken, y: Hashable, task: Hashable, labels: LabelEncoder) -> LabelEncoder | None:
        """Learn record x with reward y; return the label encoder, or None if something in it may be new."""
        population = self._population
        # a new task changes tables too, so it is for the slow path
        number = population.tasks.numbers.get(tabular.default_task(population.tasks) if task is None else task)
        row = None if number is None else self._form.known_row(x)
        if number is None or row is None:
            return None
        labels = labels.with_one(y)
        population.learner.learn_one(population.state, row, number, labels.value(y))
        return labels


class CrossedInput(Input):
    """Input of bandits: each record is a context with the chosen action.

    Parameters
    ----------
    scale : str
        The ``scale`` of :class:`~coterie.data.preprocessing.Preparation`.
    """

    form: Any

    def __init__(self, scale: str) -> None:
        super().__init__()
        self.scale = scale

    def configure(self, options: InputOptions) -> None:
        """Set the options of reading, with the scaling of the bandit."""
        options = replace(options, scale=self.scale)
        if not isinstance(self.form, CrossedForm):
            self.form = CrossedForm(options)
        super().configure(options)

    def split_one(self, x: AnyRecords, task: Hashable, known: Collection[Hashable]) -> tuple[AnyRecords, Hashable]:
        """Return a context with its action unchanged, and its task."""
        return x, tabular.default_task(known) if task is None else tabular.one_task(task)

    def read(self, X: AnyRecords, y: AnyLabels, task: AnyTasks, context: ReadContext) -> Records:
        """Encode records to learn, and their labels."""
        rows, width = self.form.read(X, context.learning)
        task = tabular.task_labels(task, rows.n_records, context.known)
        return Records(rows, width, task).with_labels(y, context.labels)

    def snapshot(self, fitted: bool) -> Callable[[], None]:
        """Return a function that restores the current state, to call if a later record is invalid."""
        undo: Callable[[], None] = self.form.snapshot()
        return undo

    def size(self, records: Records) -> InputShape:
        """Return the shape (numbers of features and tasks) that a model needs for these records."""
        return InputShape(records.width, False)

    @property
    def plain_records(self) -> None:
        """Return None: a dictionary is not a complete record."""
        return

    def first_width(self, width: int) -> int:
        """Return 1: each product of features has a column from its first record on."""
        return 1

    def restore_form(self, data: Fields, arrays: Arrays, features: int) -> None:
        """Restore the encoder of a model with this number of features."""
        self.form = CrossedForm(self.options)
        self.form.restore(data["crossing"], arrays)
        require(self.form.features <= features, f"records of {self.form.features} features do not fit")
