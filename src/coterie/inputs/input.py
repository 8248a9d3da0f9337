"""Records as users give them, read once: arrays, frames, dictionaries and blocks of files become rows and tasks.

An input is what a model knows of the form of its records: their width, the names of their columns, the vocabulary of
dictionaries, the encoder of files. There are three: :class:`Input` of records with one vector each,
:class:`coterie.inputs.view_input.ViewInput` of records with several views, and
:class:`coterie.inputs.instances.InstancesInput` of rounds with an instance of every task.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from coterie import spec
from coterie.numeric.core.checks import require
from coterie.numeric.core.hashing import feature_hash
from coterie.numeric.core.records import Csr
from coterie.numeric.trees import below
from coterie.views import HashedVocabulary, View, Vocabulary
from coterie.views.vocabularies import feature_keys, vocabulary_from_json

from . import tabular
from .block import Block
from .encoding import CONSTANT, Encoder

Arrays = dict[str, NDArray[Any]]
Undo = Callable[[], None]


@dataclass(frozen=True)
class InputOptions:
    """The parameters of an estimator that say how its records are read.

    ``owner`` is the estimator's name, for error messages; names of dictionaries are hashed to ``2**hashed`` columns if
    that is given; ``views`` are the names of the views of a record, where the user gave them.
    """

    owner: str
    dtype: Literal["float64", "float32"] = "float64"
    task_column: Hashable | None = None
    hashed: int | None = None
    views: Sequence[Hashable] | None = None


class Records(NamedTuple):
    """Records that have been read: rows as learners take them, how wide they are, and the task of each.

    ``shape`` is that of their margins where it is another than one number a row.
    """

    rows: Any
    width: int
    task: Any
    shape: tuple[int, ...] | None = None


class Labels(Protocol):
    """The labels that records may have, as far as reading them must know."""

    numeric: ClassVar[bool]
    plain: ClassVar[bool]

    def array(self, y: Any) -> NDArray[Any]:
        """Labels in any form as an array of one entry a record."""

    def check(self, y: Any) -> None:
        """Refuse what can be no label."""


class AnyInput(Protocol):
    """The protocol of inputs: all that a model asks of the form of its records."""

    encoder: Any
    has_tasks: ClassVar[bool]

    def configure(self, options: InputOptions) -> None:
        """Read as these parameters say from now on."""

    def read(self, X: Any, task: Any, known: Collection[Hashable]) -> Records:
        """Records to predict, ``known`` being the tasks that were learned."""

    def read_tasks(self, X: Any, task: Any, known: Collection[Hashable]) -> NDArray[Any]:
        """The task of each record, of which nothing else is read."""

    def read_labelled(self, X: Any, y: Any, task: Any, labels: Labels, first: bool) -> tuple[Records, Any]:
        """Records to learn from and their labels; ``first`` decide on the form; :meth:`with_tasks` reads the tasks."""

    def with_tasks(self, records: Records, known: Collection[Hashable]) -> Records:
        """Records to learn from with one task label each, ``known`` being the tasks that were learned."""

    def read_block(self, block: Block, first: bool) -> Records:
        """The records of a block that has been validated."""

    def read_one(
        self, x: Any, task: Hashable, known: Collection[Hashable], learning: bool
    ) -> tuple[Any, int, Hashable]:
        """One record given as a dictionary: its row, the width, its task."""

    def split_one(self, x: Any, task: Hashable, known: Collection[Hashable]) -> tuple[Any, Hashable]:
        """One record given as a dictionary, without its task, and the task."""

    def as_block(self, records: Records, y: NDArray[Any]) -> Block:
        """Records and labels as a validated block."""

    def snapshot(self, fitted: bool) -> Undo:
        """A function that takes back what was noted of records since, for records that are refused."""

    def init_state(
        self,
        learner: Any,
        tasks: Sequence[Hashable],
        records: Records,
        length: int | None,
        coming: Sequence[Hashable] = (),
    ) -> Any:
        """The state of a learner before the first round, with room for these records, which bring tasks ``coming``."""

    def fit_state(self, learner: Any, state: Any, tasks: Sequence[Hashable], width: int) -> None:
        """Make room in the state for the labels that are new, and for records so wide."""

    def has_room(self, state: Any, width: int) -> bool:
        """True if the state has room for records so wide."""

    @property
    def numbers(self) -> dict[str, int] | None:
        """The column of each feature name, where compiled code may read dictionaries by it."""

    @property
    def grows(self) -> bool:
        """True where records may come with features that none before had."""

    @property
    def width(self) -> int | None:
        """Columns of the arrays learned from; None where there were none."""

    @property
    def names(self) -> NDArray[Any] | None:
        """Names of the columns of the frames learned from; None where there were none."""

    @property
    def feature_names(self) -> list[str] | None:
        """The names of the features, where records had names of one list."""

    def entry_names(self, columns: Sequence[int], x: Mapping[Any, Any] | None = None) -> list[Hashable]:
        """What the features in some columns are called, in the record ``x`` where it is given; else their numbers."""

    def to_saved(self) -> tuple[dict[str, Any], Arrays]:
        """Everything noted of records, as data with a JSON form and named arrays."""

    def restore_state(self, learner: Any, data: Mapping[str, Any], arrays: Arrays) -> Any:
        """The state that a learner has kept in a file."""

    def from_saved(self, data: Mapping[str, Any], arrays: Arrays, state: Any) -> None:
        """Undo :meth:`to_saved`."""


class Input:
    """The form of records that have one vector each: arrays, sparse matrices, frames, Arrow tables, dictionaries.

    Attributes
    ----------
    width : int or None
        Columns of the arrays learned from; None where records came as dictionaries.
    names : ndarray of str, or None
        Names of the columns of the frames learned from.
    vocabulary : View or None
        The columns of dictionaries' features.
    encoder : Encoder or None
        How records of files became rows; dictionaries are read the same way.
    """

    has_tasks: ClassVar[bool] = True

    def __init__(self) -> None:
        self.options = InputOptions("")
        self.width: int | None = None
        self.names: NDArray[Any] | None = None
        self.vocabulary: View | None = None
        self.encoder: Encoder | None = None

    def configure(self, options: InputOptions) -> None:
        """Read as these parameters say from now on."""
        self.options = options

    # -- arrays, frames, lists of dictionaries --------------------------------------------------------------------

    def read(self, X: Any, task: Any, known: Collection[Hashable]) -> Records:
        """Records to predict, ``known`` being the tasks that were learned; a block of a file as it is."""
        if isinstance(X, Block):
            return self.read_block(X, first=False)
        X, task = tabular.split_task(X, task, self.options.task_column)
        rows, width = self.read_rows(X)
        return Records(rows, width, tabular.task_labels(task, tabular.length(rows), known))

    def read_rows(self, X: Any, first: bool = False) -> tuple[Any, int]:
        """Records alone and their width; the ``first`` ones decide on the form of all."""
        X = self._as_dictionaries_if_needed(X)
        if tabular.is_records(X):
            return self._rows_of_dictionaries(X, learning=first)
        rows, width, _ = self._validated(X, "no_validation", first, labels=None)
        return rows, width

    def read_tasks(self, X: Any, task: Any, known: Collection[Hashable]) -> NDArray[Any]:
        """The task of each record, of which nothing else is read."""
        X, task = tabular.split_task(X, task, self.options.task_column)
        return tabular.task_labels(task, X.shape[0] if hasattr(X, "shape") else len(X))

    def read_labelled(self, X: Any, y: Any, task: Any, labels: Labels, first: bool) -> tuple[Records, Any]:
        """Records to learn from and their labels; ``first`` decide on the form; :meth:`with_tasks` reads the tasks."""
        X, task = tabular.split_task(X, task, self.options.task_column)
        X = self._as_dictionaries_if_needed(X)
        if tabular.is_records(X):
            if len(y) != len(X):
                raise ValueError(f"y must hold one label a record: got {len(y)} for {len(X)} records")
            rows, width = self._rows_of_dictionaries(X, learning=True)
        else:
            rows, width, y = self._validated(X, y, first, labels)
        return Records(rows, width, task), y

    def with_tasks(self, records: Records, known: Collection[Hashable]) -> Records:
        """Records to learn from with one task label each, checked after their labels."""
        return records._replace(task=tabular.task_labels(records.task, tabular.length(records.rows), known))

    def _as_dictionaries_if_needed(self, X: Any) -> Any:
        """A frame as a list of dictionaries, if it must be read as such; anything else as it is."""
        by_name = self.names is None and (self.encoder is not None or self.vocabulary is not None)
        return tabular.named(X, by_name, numbers_only=self.names is not None)

    def _validated(self, X: Any, y: Any, first: bool, labels: Labels | None) -> tuple[Any, int, Any]:
        if not first and self.takes_dictionaries:
            raise ValueError(
                "the model learned from dictionaries: give a list of dictionaries, or a frame, not an array"
            )
        form = tabular.Form(self.width, self.names)
        rows, width, y = tabular.validated(self.options.owner, form, X, y, first, labels, self.options.dtype)
        if first:
            spec.check_labels(() if form.names is None else form.names.tolist(), "feature")
            self.width, self.names = form.width, form.names
        return rows, width, y

    def _rows_of_dictionaries(self, X: Sequence[Mapping[str, Any]], learning: bool) -> tuple[Csr, int]:
        if self.encoder is not None:
            rows, width = tabular.encoded(self.encoder, X, learning), self.encoder.n_features
        else:
            vocabulary = self._vocabulary(learning)
            rows = vocabulary.records(X, grow=learning and self.takes_dictionaries)
            width = max(len(vocabulary), 1)
        if self.options.dtype != "float64":
            for record, first, last in zip(X, rows.starts[:-1], rows.starts[1:], strict=True):
                tabular.require_fitting(record, rows.values[first:last], self.options.dtype)
        return tabular.of_type(rows, self.options.dtype), width

    @property
    def takes_dictionaries(self) -> bool:
        """True where records come as dictionaries, so that features may be new."""
        return self.width is None and self.names is None

    @property
    def grows(self) -> bool:
        """True where records are dictionaries whose names get columns as they come."""
        return self.takes_dictionaries and self.encoder is None and isinstance(self.vocabulary, Vocabulary)

    def _vocabulary(self, learning: bool) -> View:
        """The vocabulary, made if there is none; noted if the record is to be learned."""
        made = self.vocabulary
        if made is None:
            if self.names is None and self.width is not None:
                raise ValueError(
                    "records given as dictionaries need feature names, and the model learned from bare arrays"
                )
            hashed = self.options.hashed if self.names is None else None
            made = Vocabulary(() if self.names is None else self.names) if hashed is None else HashedVocabulary(hashed)
        if learning:
            self.vocabulary = made
        return made

    # -- blocks ---------------------------------------------------------------------------------------------------

    def read_block(self, block: Block, first: bool) -> Records:
        """The records of a block that has been validated; their width is noted."""
        if self.options.dtype != "float64":
            names = None if self.encoder is None else self.encoder.feature_names
            tabular.require_usable(block.X, "X", names, self.options.dtype, block.place)
        rows, width = tabular.block_rows(block.X, self.options.dtype)
        if not first and self.width is not None and width != self.width:
            raise ValueError(f"X has {width} features, but {self.options.owner} is expecting {self.width}")
        if self.vocabulary is None:
            self.width = width
        return Records(rows, width, block.tasks)

    def as_block(self, records: Records, y: NDArray[Any]) -> Block:
        """Records and labels as a validated block."""
        n = tabular.length(records.rows)
        return Block(tabular.as_array(records.rows, records.width), y, records.task, np.arange(1, n + 1))

    # -- one record -----------------------------------------------------------------------------------------------

    def split_one(self, x: Any, task: Hashable, known: Collection[Hashable]) -> tuple[Any, Hashable]:
        """One record given as a dictionary, without its task, and the task."""
        if type(x) is not dict and not isinstance(x, Mapping):
            raise TypeError(f"one record is a dictionary of features, got {type(x).__name__}; arrays hold several")
        column = self.options.task_column
        if column is None:
            return x, tabular.only_task(known) if task is None else tabular.one_task(task)
        if task is not None:
            raise ValueError(f"the task is given twice: as task= and as task_column={column!r}")
        if column not in x:
            raise ValueError(f"the record has no task_column {column!r}; it has {list(x)[:10]}")
        return {name: held for name, held in x.items() if name != column}, tabular.one_task(x[column])

    def read_one(
        self, x: Any, task: Hashable, known: Collection[Hashable], learning: bool
    ) -> tuple[Csr, int, Hashable]:
        """One record given as a dictionary: its row, the width, its task."""
        x, task = self.split_one(x, task, known)
        if self.encoder is not None:
            row, width = tabular.encoded(self.encoder, [x], learning), self.encoder.n_features
        else:
            vocabulary = self._vocabulary(learning)
            row = vocabulary.record(x, learning and self.takes_dictionaries)
            width = len(vocabulary) or 1
        tabular.require_fitting(x, row.values, self.options.dtype)
        return tabular.of_type(row, self.options.dtype), width, task

    @property
    def numbers(self) -> dict[str, int] | None:
        """The column of each feature name, where compiled code may read dictionaries by it."""
        plain = self.vocabulary is not None and self.encoder is None and self.options.dtype == "float64"
        return self.vocabulary.numbers if plain and self.options.task_column is None else None  # type: ignore[union-attr]

    # -- states ---------------------------------------------------------------------------------------------------

    def snapshot(self, fitted: bool) -> Undo:
        """A function that takes back what was noted of records since, for records that are refused."""
        before = (self.width, self.names, self.vocabulary) if fitted else (None, None, None)
        words = len(before[2]) if before[2] is not None else 0
        moments = None if self.encoder is None else self.encoder.moments.copy()
        names = None if self.encoder is None else self.encoder.names.mark()

        def undo() -> None:
            self.width, self.names, self.vocabulary = before
            if self.vocabulary is not None:
                self.vocabulary.shorten(words)
            if self.encoder is not None and moments is not None:
                self.encoder.moments = moments
                self.encoder.names.restore(names)

        return undo

    def init_state(
        self,
        learner: Any,
        tasks: Sequence[Hashable],
        records: Records,
        length: int | None,
        coming: Sequence[Hashable] = (),
    ) -> Any:
        """The state of a learner before the first round, with room for these records."""
        return learner.init(tasks, records.width, tabular.is_dense(records.rows), length)

    def fit_state(self, learner: Any, state: Any, tasks: Sequence[Hashable], width: int) -> None:
        """Make room in the state for the labels that are new, and for records so wide."""
        learner.fit_tasks(state, tasks, width)

    def has_room(self, state: Any, width: int) -> bool:
        """True if the state has room for records so wide."""
        return bool(width <= state.features)

    @property
    def feature_names(self) -> list[str] | None:
        """The names of the features where records had names: tables, and dictionaries that are not hashed."""
        if self.encoder is not None:
            named = self.encoder.feature_names
            return None if named is None else list(named)
        if self.vocabulary is not None:
            return self.vocabulary.to_json().get("names")
        return None if self.names is None else list(self.names)

    def entry_names(self, columns: Sequence[int], x: Mapping[Any, Any] | None = None) -> list[Hashable]:
        """What the features in some columns are called, in the record ``x`` where it is given; else their numbers.

        Several features of a record that are hashed to one column are named together.
        """
        known = self.feature_names
        if known is not None:
            return [known[column] for column in columns]
        if self.encoder is not None and x is None:
            return [self.encoder.name_of(column) or int(column) for column in columns]
        named: dict[int, list[str]] = {}
        for name in () if x is None else self._keys_of(x):
            named.setdefault(self._hashed_column(name), []).append(name or CONSTANT)
        return [" and ".join(named[column]) if column in named else int(column) for column in columns]

    def _keys_of(self, x: Mapping[Any, Any]) -> list[str]:
        """The keys of a record's features, where they are hashed."""
        column = self.options.task_column
        x = x if column is None else {name: held for name, held in x.items() if name != column}
        if self.encoder is not None:
            return self.encoder.keys_of(x)
        return feature_keys(x) if isinstance(self.vocabulary, HashedVocabulary) else []

    def _hashed_column(self, key: str) -> int:
        bits: int = self.vocabulary.bits if self.encoder is None else self.encoder.bits  # type: ignore[union-attr]
        return feature_hash(key, bits)

    # -- files ----------------------------------------------------------------------------------------------------

    def to_saved(self) -> tuple[dict[str, Any], Arrays]:
        """Everything noted of records, as data with a JSON form and named arrays."""
        noted = {"n_features_in_": self.width, "feature_names_in_": self.names}
        data: dict[str, Any] = {"kept": {name: held for name, held in noted.items() if held is not None}}
        data["view"] = None if self.vocabulary is None else self.vocabulary.to_json()
        if self.encoder is None:
            return data, {}
        data["encoder"], arrays = self.encoder.to_state()
        return data, {f"encoder.{name}": array for name, array in arrays.items()}

    def restore_state(self, learner: Any, data: Mapping[str, Any], arrays: Arrays) -> Any:
        """The state that a learner has kept in a file."""
        return learner.restore(data["state"], arrays, spec.labels_of(data["tasks"]))

    def from_saved(self, data: Mapping[str, Any], arrays: Arrays, state: Any) -> None:
        """Undo :meth:`to_saved`.

        Raises
        ------
        ValueError
            If the data are of records that the state has no room for, or not those of any.
        """
        self.restore_form(data, arrays, state.features)

    def restore_form(self, data: Mapping[str, Any], arrays: Arrays, features: int) -> None:
        """Restore the form of the records of a model with so many features: :meth:`from_saved` without its state."""
        kept, view = msgspec.convert(data["kept"], dict[str, Any]), data.get("view")
        self.width, self.names = kept.get("n_features_in_"), kept.get("feature_names_in_")
        self.vocabulary = None if view is None else vocabulary_from_json(view)
        if "encoder" in data:
            self.encoder = Encoder.from_state(data["encoder"], below(arrays, "encoder."))
        self._require_room(features)

    def _require_room(self, features: int) -> None:
        """Refuse a form of records that are wider than so many features, or of other width than they: ValueError."""
        if self.names is not None:
            texts = isinstance(self.names, np.ndarray) and all(isinstance(name, str) for name in self.names.tolist())
            require(texts and self.width == len(self.names), "the names of columns are not one a column")
        if self.width is not None:
            fits = type(self.width) is int and self.width == features
            require(fits, f"records of {self.width!r} features do not fit")
        named = None if self.vocabulary is None else len(self.vocabulary)
        encoded = None if self.encoder is None else self.encoder.n_features
        require((self.width, named, encoded) != (None, None, None), "nothing says how records are read")
        most = max(named or 0, encoded or 0)
        require(most <= features, f"records of {most} features do not fit")


class all_or_nothing:  # noqa: N801 - used as a statement
    """Take back what an input has noted of the form of records if they are refused inside."""

    __slots__ = ("_undo",)

    def __init__(self, source: AnyInput, fitted: bool) -> None:
        self._undo = source.snapshot(fitted)

    def __enter__(self) -> None:
        """Nothing to do: what there was has been noted."""

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        if kind is not None:
            self._undo()
