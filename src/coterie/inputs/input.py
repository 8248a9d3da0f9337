"""Records as users give them, read once: arrays, frames, dictionaries and blocks of files become rows and tasks.

An input is what a model knows of the form of its records: their width, the names of their columns, the vocabulary of
dictionaries, the encoder of files. There are three: :class:`Input` of records with one vector each,
:class:`coterie.inputs.view_input.ViewInput` of records with several views, and
:class:`coterie.inputs.instances.InstancesInput` of rounds with an instance of every task.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, cast

import msgspec
import numpy as np
from numpy.typing import NDArray

from coterie import spec
from coterie.index import Index
from coterie.numeric.core.checks import require
from coterie.numeric.core.hashing import feature_hash
from coterie.numeric.core.records import Csr, Dense
from coterie.numeric.primal.calls import PlainRecords
from coterie.numeric.trees import below
from coterie.round.contract import Size
from coterie.views import HashedVocabulary, View, Vocabulary
from coterie.views.vocabularies import feature_keys, vocabulary_from_json

from . import tabular
from .block import Block
from .encoding import Encoder
from .keys import CONSTANT_KEY
from .labels import Labels
from .preparation import CONSTANT, Preparation

Arrays = dict[str, NDArray[Any]]
Undo = Callable[[], None]


@dataclass(frozen=True)
class InputOptions:
    """The parameters of an estimator that say how its records are read.

    ``owner`` is the estimator's name, for error messages; names of dictionaries are hashed to ``2**hashed`` columns if
    that is given; ``views`` are the names of the views of a record, where the user gave them, and may be arrays of
    ``any_sizes`` even where they have one space otherwise. Records get a constant if ``intercept``, and are scaled by
    ``scale``, a word of :class:`coterie.inputs.encoding.Encoder`; without, they are as they are, and columns of very
    different size are warned of.
    """

    owner: str
    dtype: Literal["float64", "float32"] = "float64"
    task_column: Hashable | None = None
    hashed: int | None = None
    views: Sequence[Hashable] | None = None
    any_sizes: bool = False
    intercept: bool = False
    scale: str | None = "none"
    log: tuple[Hashable, ...] = ()

    @property
    def prepares(self) -> bool:
        """True if anything is done to records."""
        return self.intercept or self.scale not in (None, "none") or bool(self.log)


class Records(NamedTuple):
    """Records that have been read: rows as learners take them, how wide they are, and the task of each.

    ``shape`` is that of their margins where it is another than one number a row.
    """

    rows: Any
    width: int
    task: Any
    shape: tuple[int, ...] | None = None


class AnyInput(Protocol):
    """The protocol of inputs: all that a model needs to know of the form of its records."""

    encoder: Any
    has_tasks: ClassVar[bool]

    def configure(self, options: InputOptions) -> None:
        """Set the parameters by which records are read from now on."""

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
        """A function that undoes what was noted of records since this call, for records that are refused."""

    def first_tasks(self, tasks: Sequence[Hashable], coming: Sequence[Hashable]) -> Sequence[Hashable]:
        """The tasks known before the first round, ``tasks`` being named and the others ``coming`` with records."""

    def size(self, records: Records) -> Size:
        """How wide a state must be for these records."""

    def has_room(self, state: Any, width: int) -> bool:
        """True if the state has room for records of this width."""

    def began(self, state: Any) -> None:
        """Note what is needed of the state before the first round, which has just been made."""

    @property
    def plain_records(self) -> PlainRecords | None:
        """The arrays by which compiled code reads dictionaries; None where Python has to read them."""

    @property
    def constant(self) -> int | None:
        """The column of the constant, where there is one of its own."""

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
    def seen(self) -> tabular.Form:
        """The columns of the arrays or frames learned from, whether these are read as arrays or by name."""

    @property
    def feature_names(self) -> list[str] | None:
        """The names of the features, where records had names of one list."""

    def entry_names(self, columns: Sequence[int], x: Mapping[Any, Any] | None = None) -> list[Hashable]:
        """The names of the features in some columns, for the record ``x`` if given; else the columns' numbers."""

    def to_saved(self) -> tuple[dict[str, Any], Arrays]:
        """Everything noted of records, as data with a JSON form and named arrays."""

    def index_of(self, data: Mapping[str, Any]) -> Index:
        """The labels that the data of a file number."""

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
        How records of files became rows, and tables with more than numbers; dictionaries are read the same way.
    preparation : Preparation or None
        What is done to all other records before they are learned.
    frame : Form
        Number and names of the columns of the first frame, where its columns are read by name: not as an array is.
    """

    has_tasks: ClassVar[bool] = True

    def __init__(self) -> None:
        self.options = InputOptions("")
        self.width: int | None = None
        self.names: NDArray[Any] | None = None
        self.vocabulary: View | None = None
        self.encoder: Encoder | None = None
        self.preparation: Preparation | None = None
        self.frame = tabular.Form()
        self._indicators = 0  # columns of indicators in the blocks of files so far

    def configure(self, options: InputOptions) -> None:
        """Set the parameters by which records are read from now on."""
        self.options = options

    # -- arrays, frames, lists of dictionaries --------------------------------------------------------------------

    def read(self, X: Any, task: Any, known: Collection[Hashable]) -> Records:
        """Records to predict, ``known`` being the tasks that were learned; a block of a file as it is."""
        if isinstance(X, Block):
            return self.read_block(X, first=False)
        X, task = tabular.split_task(X, task, self.options.task_column)
        rows, width = self.read_rows(X)
        return Records(rows, width, tabular.task_labels(task, tabular.length(rows), known))

    def read_rows(self, X: Any, first: bool = False, learning: bool = False) -> tuple[Any, int]:
        """Records alone and their width; the ``first`` ones decide on the form of all."""
        found = self._by_name(X, first, first or learning)
        rows, width, _ = found or self._validated(X, "no_validation", first, labels=None, learning=learning)
        return rows, width

    def read_tasks(self, X: Any, task: Any, known: Collection[Hashable]) -> NDArray[Any]:
        """The task of each record, of which nothing else is read."""
        X, task = tabular.split_task(X, task, self.options.task_column)
        return tabular.task_labels(task, X.shape[0] if hasattr(X, "shape") else len(X))

    def read_labelled(self, X: Any, y: Any, task: Any, labels: Labels, first: bool) -> tuple[Records, Any]:
        """Records to learn from and their labels; ``first`` decide on the form; :meth:`with_tasks` reads the tasks."""
        X, task = tabular.split_task(X, task, self.options.task_column)
        if first:
            tabular.warn_of_task(X, task)
        found = self._by_name(X, first, learning=True)
        if found is None:
            rows, width, y = self._validated(X, y, first, labels, learning=True)
        elif len(y) != tabular.length(found[0]):
            raise ValueError(f"y must hold one label a record: got {len(y)} for {tabular.length(found[0])} records")
        else:
            rows, width, _ = found
        if first:
            tabular.warn_of_columns(X, y)
        return Records(rows, width, task), y

    def with_tasks(self, records: Records, known: Collection[Hashable]) -> Records:
        """Records to learn from with one task label each, checked after their labels."""
        return records._replace(task=tabular.task_labels(records.task, tabular.length(records.rows), known))

    def _by_name(self, X: Any, first: bool, learning: bool) -> tuple[Any, int, None] | None:
        """Rows and width of records that are read by names; None for arrays and frames of numbers alone."""
        if hasattr(X, "columns") and len(X):
            form = tabular.form_of(X)
            if self._encodes(X, first):
                self.frame = form if first else self.frame
                return self._encoded(tabular.arrow_table(X), learning)
            by_name = self.names is None and (self.encoder is not None or self.vocabulary is not None)
            X = tabular.named(X, by_name, self.names is not None, self.options.prepares)
            self.frame = form if first and tabular.is_records(X) else self.frame
        return (*self._rows_of_dictionaries(X, learning), None) if tabular.is_records(X) else None

    def _encodes(self, X: Any, first: bool) -> bool:
        """True for a frame that is encoded as a table in a file is."""
        if self.encoder is not None:
            return self.encoder.source == "columns"
        return first and self.options.scale is not None and self.options.prepares and not tabular.has_numbers_only(X)

    def _encoded(self, table: Any, learning: bool) -> tuple[Any, int, None]:
        """Rows of an Arrow table; the first one decides what its columns are."""
        if self.encoder is None:
            self.encoder = tabular.encoder_of(table, self.options.intercept, str(self.options.scale), self.options.log)
        X = self.encoder.encode(table, update=learning)
        if self.options.dtype != "float64":
            tabular.require_usable(X, "X", self.encoder.feature_names, self.options.dtype)
        return *tabular.block_rows(X, self.options.dtype), None

    def _validated(
        self, X: Any, y: Any, first: bool, labels: Labels | None, learning: bool = False
    ) -> tuple[Any, int, Any]:
        if not first and self.takes_dictionaries:
            raise ValueError(
                "the model learned from dictionaries: give a list of dictionaries, or a frame, not an array"
            )
        form, options = tabular.Form(self.width, self.names), self.options
        gaps = options.prepares if first else self.preparation is not None
        rows, width, y = tabular.validated(options.owner, form, X, y, first, labels, options.dtype, gaps)
        if first:
            spec.check_labels(() if form.names is None else form.names.tolist(), "feature")
            self.width, self.names = form.width, form.names
            if options.scale is None:
                tabular.warn_of_sizes(rows, form.names, options.owner)
            if options.prepares:
                logs = tabular.places_of(options.log, width, form.names)
                self.preparation = Preparation.of(options.intercept, options.scale, width, tabular.is_dense(rows), logs)
        if self.preparation is None:
            return rows, width, y
        return *self._prepared(rows, width, learning), y

    def _prepared(self, rows: Any, width: int, learning: bool) -> tuple[Any, int]:
        """Rows of an array as they are learned, and their width."""
        prepared = cast(Preparation, self.preparation)
        if prepared.standardised and not tabular.is_dense(rows):
            rows = rows.to_dense(width, np.float64)
        made = prepared.columns(rows.values, learning) if tabular.is_dense(rows) else prepared.sparse(rows)
        return tabular.of_type(made, self.options.dtype), prepared.features

    def _rows_of_dictionaries(self, X: Sequence[Mapping[str, Any]], learning: bool) -> tuple[Any, int]:
        if self.encoder is not None:
            rows, width = tabular.encoded(self.encoder, X, learning), self.encoder.n_features
        elif self.names is not None and self.preparation is not None:
            values = np.array([tabular.values_by_name(record, self.names) for record in X])
            return self._prepared(Dense(values), len(self.names), learning)
        else:
            vocabulary = self._vocabulary(learning)
            grow = learning and self.takes_dictionaries
            if self.preparation is None:
                rows = vocabulary.records(X, grow)
            else:
                rows = self.preparation.records(X, vocabulary, grow, learning)
            width = max(len(vocabulary), 1)
        if self.options.dtype != "float64":
            for record, first, last in zip(X, rows.starts[:-1], rows.starts[1:], strict=True):
                tabular.require_fitting(record, rows.values[first:last], self.options.dtype)
        return tabular.of_type(rows, self.options.dtype), width

    @property
    def seen(self) -> tabular.Form:
        """The columns of the arrays or frames learned from, whether these are read as arrays or by name."""
        return self.frame if self.width is None else tabular.Form(self.width, self.names)

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
            if learning and self.takes_dictionaries and self.options.prepares:
                numbers = isinstance(made, Vocabulary)
                options = self.options
                self.preparation = Preparation.of(options.intercept, options.scale, None, numbers, options.log)
                self.preparation.begin(made)
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
        own = width - block.indicators
        expected = None if self.preparation is not None else self.width
        if expected is not None:
            expected -= self._indicators
        elif self.preparation is not None and self.preparation.width is not None:
            expected = self.preparation.features - len(self.preparation.missing)
        if not first and expected is not None and own != expected:
            raise ValueError(f"X has {own} features, but {self.options.owner} is expecting {expected}")
        if self.vocabulary is None and self.preparation is None:
            self.width, self._indicators = width, block.indicators
        return Records(rows, width, block.tasks)

    def as_block(self, records: Records, y: NDArray[Any]) -> Block:
        """Records and labels as a validated block."""
        n = tabular.length(records.rows)
        X, gaps = tabular.as_array(records.rows, records.width), self._gaps(records)
        return Block(X, y, records.task, np.arange(1, n + 1), indicators=gaps)

    def _gaps(self, records: Records) -> int:
        """The number of columns of dense records that indicate missing values."""
        if not tabular.is_dense(records.rows):
            return 0
        prepared = self.encoder if self.preparation is None else self.preparation
        return 0 if prepared is None else len(prepared.missing)

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
            row, width = self._row_by_name(x, learning)
        tabular.require_fitting(x, row.values, self.options.dtype)
        return tabular.of_type(row, self.options.dtype), width, task

    def _row_by_name(self, x: Any, learning: bool) -> tuple[Csr, int]:
        """One dictionary as its row, and the width."""
        vocabulary, prepared = self._vocabulary(learning), self.preparation
        if prepared is None:
            return vocabulary.record(x, learning and self.takes_dictionaries), len(vocabulary) or 1
        if self.names is None:
            return prepared.record(x, vocabulary, learning, learning), len(vocabulary) or 1
        values = np.array([tabular.values_by_name(x, self.names)])
        made = prepared.columns(values, learning).values[0]
        return Csr(made, np.arange(len(made), dtype=np.int32), np.array([0, len(made)])), prepared.features

    @property
    def plain_records(self) -> PlainRecords | None:
        """The arrays by which compiled code reads dictionaries; None where Python has to read them."""
        plain = isinstance(self.vocabulary, Vocabulary) and self.encoder is None and self.options.dtype == "float64"
        if not plain or self.options.task_column is not None:
            return None
        vocabulary = cast(Vocabulary, self.vocabulary)
        prepared = self.preparation
        if prepared is None:
            return PlainRecords(vocabulary.numbers)
        return prepared.plain_records(vocabulary) if prepared.reads_plainly else None

    # -- states ---------------------------------------------------------------------------------------------------

    def snapshot(self, fitted: bool) -> Undo:
        """A function that undoes what was noted of records since this call, for records that are refused."""
        held = self.width, self.names, self.vocabulary, self.preparation, self._indicators
        width, names, vocabulary, preparation, indicators = held if fitted else (None, None, None, None, 0)
        frame = self.frame if fitted else tabular.Form()
        encoder, words = self.encoder, 0 if vocabulary is None else len(vocabulary)
        undo_scales = [each.snapshot() for each in (encoder, preparation) if each is not None]

        def undo() -> None:
            self.width, self.names, self.vocabulary, self.preparation = width, names, vocabulary, preparation
            self.encoder, self._indicators, self.frame = encoder, indicators, frame
            if vocabulary is not None:
                vocabulary.shorten(words)
            for undo_one in undo_scales:
                undo_one()

        return undo

    def first_tasks(self, tasks: Sequence[Hashable], coming: Sequence[Hashable]) -> Sequence[Hashable]:
        """The tasks named: others are met when their records come."""
        return tasks

    def size(self, records: Records) -> Size:
        """How wide a state must be for these records."""
        return Size(records.width, tabular.is_dense(records.rows))

    def has_room(self, state: Any, width: int) -> bool:
        """True if the state has room for records of this width."""
        return bool(width <= state.features)

    def began(self, state: Any) -> None:
        """Note nothing: records are read alike whatever the state is."""

    @property
    def feature_names(self) -> list[str] | None:
        """The names of the features where records had names: tables, and dictionaries that are not hashed."""
        if self.encoder is not None:
            named = self.encoder.feature_names
            return None if named is None else list(named)
        if self.names is not None:
            prepared = self.preparation
            behind = [] if prepared is None else prepared.names_behind(self.names.tolist())
            return [*self.names.tolist(), *behind]
        names = None if self.vocabulary is None else self.vocabulary.to_json().get("names")
        if names is None or self.preparation is None or not self.preparation.constant:
            return names
        return [CONSTANT if name == CONSTANT_KEY else name for name in names]

    @property
    def constant(self) -> int | None:
        """The column of the constant, where there is one of its own."""
        if self.encoder is not None:
            return self.encoder.constant_column
        prepared = self.preparation
        if prepared is None or not prepared.constant or isinstance(self.vocabulary, HashedVocabulary):
            return None
        return prepared.width or 0

    def entry_names(self, columns: Sequence[int], x: Mapping[Any, Any] | None = None) -> list[Hashable]:
        """The names of the features in some columns, for the record ``x`` if given; else the columns' numbers.

        Several features of a record that are hashed to one column are named together.
        """
        known: Sequence[Hashable] | None = self.feature_names
        prepared = self.preparation
        if known is None and prepared is not None and prepared.width is not None:  # records come as arrays
            known = [*range(prepared.width), *prepared.names_behind(range(prepared.width))]
        if known is not None:
            # room that was made for records refused afterwards has no names
            return [known[column] if column < len(known) else int(column) for column in columns]
        if self.encoder is not None and x is None:
            return [self.encoder.name_of(column) or int(column) for column in columns]
        named: dict[int, list[str]] = {}
        constant = [CONSTANT_KEY] if prepared is not None and prepared.constant else []
        for name in constant if x is None else self._keys_of(x):
            named.setdefault(self._hashed_column(name), []).append(name or CONSTANT)
        return [" and ".join(named[column]) if column in named else int(column) for column in columns]

    def _keys_of(self, x: Mapping[Any, Any]) -> list[str]:
        """The keys of a record's features, where they are hashed."""
        column = self.options.task_column
        x = x if column is None else {name: held for name, held in x.items() if name != column}
        if self.encoder is not None:
            return self.encoder.keys_of(x)
        if not isinstance(self.vocabulary, HashedVocabulary):
            return []
        return feature_keys(x) if self.preparation is None else self.preparation.keys_of(x)

    def _hashed_column(self, key: str) -> int:
        bits: int = self.vocabulary.bits if self.encoder is None else self.encoder.bits  # type: ignore[union-attr]
        return feature_hash(key, bits)

    # -- files ----------------------------------------------------------------------------------------------------

    def is_like(self, other: Input) -> bool:
        """Tell whether both have read dictionaries alike, and make the same rows of those to come."""
        if any(each.encoder is not None or not each.takes_dictionaries for each in (self, other)):
            return False
        (mine, held), (its, others) = self.to_saved(), other.to_saved()
        options = replace(self.options, owner=other.options.owner)
        return (options, mine, held.keys()) == (other.options, its, others.keys()) and all(
            array.tobytes() == others[name].tobytes() for name, array in held.items()
        )

    def to_saved(self) -> tuple[dict[str, Any], Arrays]:
        """Everything noted of records, as data with a JSON form and named arrays."""
        noted = {"n_features_in_": self.width, "feature_names_in_": self.names}
        noted |= {"n_columns": self.frame.width, "columns": self.frame.names}
        data: dict[str, Any] = {"kept": {name: held for name, held in noted.items() if held is not None}}
        data["view"] = None if self.vocabulary is None else self.vocabulary.to_json()
        arrays: Arrays = {}
        if self.encoder is not None:
            data["encoder"], held = self.encoder.to_state()
            arrays |= {f"encoder.{name}": array for name, array in held.items()}
        if self.preparation is not None:
            data["preparation"], held = self.preparation.to_saved()
            arrays |= {f"preparation.{name}": array for name, array in held.items()}
        return data, arrays

    def index_of(self, data: Mapping[str, Any]) -> Index:
        """The tasks that the data of a file number: ValueError if one is there twice."""
        labels = spec.labels_of(data["tasks"])
        index = Index(labels)
        require(len(index) == len(labels), "a task is there twice")
        return index

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
        self.frame = tabular.Form(kept.get("n_columns"), kept.get("columns"))
        self.vocabulary = None if view is None else vocabulary_from_json(view)
        if "encoder" in data:
            self.encoder = Encoder.from_state(data["encoder"], below(arrays, "encoder."))
            self._indicators = self.encoder.indicator_columns
        if "preparation" in data:
            require(self.width is not None or self.vocabulary is not None, "nothing says how records are read")
            words = self.vocabulary.numbers if isinstance(self.vocabulary, Vocabulary) else None
            known, own = self.width or len(words or ()), below(arrays, "preparation.")
            self.preparation = Preparation.from_saved(data["preparation"], own, self.width, known)
            if words is not None and self.width is None and self.preparation.constant:
                require(words.get(CONSTANT_KEY) == 0, "the first feature is not the constant")
        self._require_room(features)

    def _require_room(self, features: int) -> None:
        """Refuse a form of records that does not fit a state with so many features: ValueError."""
        for width, names in ((self.width, self.names), (self.frame.width, self.frame.names)):
            texts = names is None or (isinstance(names, np.ndarray) and set(map(type, names.tolist())) <= {str})
            require(texts and (names is None or width == len(names)), "the names of columns are not one a column")
        require(type(self.frame.width) in (int, type(None)), "the number of columns is none")
        if self.width is not None:
            wide = self.width if self.preparation is None else self.preparation.features
            fits = type(self.width) is int and wide == features
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
        """Do nothing: the state to go back to has been noted."""

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        if kind is not None:
            self._undo()
