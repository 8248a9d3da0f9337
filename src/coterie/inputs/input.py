"""Records as users give them, read once: arrays, frames, dictionaries and blocks of files become rows and tasks.

An input is what a model knows of its records. There are three: :class:`Input` of records with one vector each, which
become rows by the :class:`coterie.inputs.form.Form` that the first of them choose,
:class:`coterie.inputs.view_input.ViewInput` of records with several views, and
:class:`coterie.inputs.instances.InstancesInput` of rounds with an instance of every task.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from coterie import spec
from coterie.index import Index
from coterie.multiview import Vocabulary
from coterie.numeric.core.checks import require
from coterie.numeric.core.records import Dense
from coterie.numeric.primal.calls import PlainRecords
from coterie.round.contract import InputShape

from . import tabular
from .block import Block, RawRecords
from .form import EncodedColumns, Form, How, NumberColumns, Words, form_of
from .labels import Labels
from .preparation import Learning
from .tabular import Shape

Arrays = dict[str, NDArray[Any]]
Undo = Callable[[], None]


@dataclass(frozen=True)
class InputOptions:
    """The parameters of an estimator that say how its records are read.

    ``owner`` is the estimator's name, for error messages; ``views`` are the names of the views of a record, where the
    user gave them, and may be arrays of ``any_sizes`` even where they have one space otherwise. Records get a constant
    if ``intercept``, and are scaled by ``scale``, a word of :class:`coterie.inputs.encoding.Encoder`; without, they are
    as they are, and columns of very different size are warned of, as are records without a task where the estimator
    ``expects_tasks``. Options that are equal read records alike: those of messages alone are not compared.
    """

    owner: str = field(compare=False)
    task_column: Hashable | None = None
    views: Sequence[Hashable] | None = None
    any_sizes: bool = False
    intercept: bool = False
    scale: str | None = "none"
    log: tuple[Hashable, ...] = ()
    expects_tasks: bool = field(default=False, compare=False)

    @property
    def prepares(self) -> bool:
        """True if anything is done to records."""
        return self.how is not None

    @property
    def how(self) -> How | None:
        """What is done to records before they are learned; None if nothing is."""
        how = (self.intercept, self.scale or "none", self.log)
        return None if how == (False, "none", ()) else how


class Records(NamedTuple):
    """Records that have been read: rows as learners take them, how wide they are, and the task of each.

    ``shape`` is that of their margins where it is another than one number a row; ``constant`` that of the block.
    """

    rows: Any
    width: int
    task: Any
    shape: tuple[int, ...] | None = None
    constant: int | None = None


class Input:
    """Records that have one vector each: arrays, sparse matrices, frames, Arrow tables, dictionaries, blocks of files.

    Attributes
    ----------
    form : Form or None
        How records become rows, chosen at the first record; None before.
    """

    has_tasks: ClassVar[bool] = True

    def __init__(self) -> None:
        self.options = InputOptions("")
        self.form: Form | None = None

    def configure(self, options: InputOptions) -> None:
        """Set the parameters by which records are read from now on."""
        self.options = options

    @property
    def encoder(self) -> Any:
        """What reads records of files, and tables with more than numbers; None if nothing such was learned."""
        return self._known.encoder

    @encoder.setter
    def encoder(self, encoder: Any) -> None:
        before = self._known
        self.form = before if encoder is None else EncodedColumns(encoder)
        if encoder is not None:
            self.form.width, self.form.indicators, self.form.frame = before.width, before.indicators, before.frame

    @property
    def _known(self) -> Form:
        """The form, or before the first record one of nothing."""
        return Form() if self.form is None else self.form

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
        rows, width, _ = self._read(X, "no_validation", first, first or learning, None)
        return rows, width

    def read_tasks(self, X: Any, task: Any, known: Collection[Hashable]) -> NDArray[Any]:
        """The task of each record, of which nothing else is read."""
        X, task = tabular.split_task(X, task, self.options.task_column)
        return tabular.task_labels(task, tabular.count(X))

    def read_labelled(
        self, X: Any, y: Any, task: Any, labels: Labels, first: bool, learning: Learning = True
    ) -> tuple[Records, Any]:
        """Records to learn from and their labels; ``first`` decide on the form; :meth:`with_tasks` reads the tasks.

        Those that are predicted only, as ``learning`` may say for each, do not change how later records are read.
        """
        X, task = tabular.split_task(X, task, self.options.task_column)
        if first:
            tabular.warn_of_task(X, task)
        rows, width, y = self._read(X, y, first, learning, labels)
        if first:
            if task is None and self.options.expects_tasks and tabular.length(rows) > 1:
                tabular.warn_of_one_task(self.options.owner)
            tabular.warn_of_columns(X, y)
        return Records(rows, width, task), y

    def with_tasks(self, records: Records, known: Collection[Hashable]) -> Records:
        """Records to learn from with one task label each, checked after their labels."""
        return records._replace(task=tabular.task_labels(records.task, tabular.length(records.rows), known))

    def _read(self, X: Any, y: Any, first: bool, learning: Learning, labels: Labels | None) -> tuple[Any, int, Any]:
        """Rows, width and labels of records in any form; the ``first`` ones decide on it."""
        shape = tabular.shape_of(X) if tabular.is_frame(X) else Shape()
        form = self._chosen(X) if first or self.form is None else self.form
        X = X if form is None else form.normalized_input(X)
        if form is None or not (tabular.is_records(X) or (form.encoder is not None and tabular.is_frame(X))):
            return self._validated(X, y, first, learning, labels)
        if labels is not None:
            y = tabular.one_a_record(y)
        rows, width = form.read(X, learning)
        if first:
            self.form, form.frame = form, shape
        if labels is not None and len(y) != tabular.length(rows):
            raise ValueError(f"y must hold one label a record: got {len(y)} for {tabular.length(rows)} records")
        return rows, width, y

    def _chosen(self, X: Any) -> Form | None:
        """The form of all records by the first ones; None for columns of numbers, of which validation tells more."""
        options, frame = self.options, tabular.is_frame(X)
        if isinstance(self.form, EncodedColumns) or (isinstance(self.form, Words) and (frame or tabular.is_records(X))):
            return self.form
        if frame and options.how is not None and options.scale is not None and not tabular.has_numbers_only(X):
            return EncodedColumns.of(tabular.arrow_table(X), options.how)
        return Words.of(options.how) if tabular.is_records(X) or tabular.has_words(X) else None

    def _validated(
        self, X: Any, y: Any, first: bool, learning: Learning, labels: Labels | None
    ) -> tuple[Any, int, Any]:
        """Rows, width and labels of arrays, and of frames of numbers alone."""
        form, options = self._known, self.options
        if not first and form.width is None:
            if tabular.count(X) == 0:
                raise ValueError("X holds no records")
            raise ValueError("the model learned features by name: give a list of dictionaries, or a frame, no array")
        shape, gaps = Shape(form.width, form.names), options.how if first else form.of_arrays
        rows, width, y = tabular.validated(options.owner, shape, X, y, first, labels, gaps=gaps is not None)
        if first:
            spec.check_labels(() if shape.names is None else shape.names.tolist(), "feature")
            form = self.form = NumberColumns.of(width, shape.names, tabular.is_dense(rows), options.how)
        prepared = form.of_arrays
        if prepared is None:
            return rows, width, y
        return prepared.rows(rows, learning), prepared.features, y

    # -- blocks ---------------------------------------------------------------------------------------------------

    def read_block(self, block: Block, first: bool) -> Records:
        """The records of a block that has been validated; their width is noted."""
        rows, width = tabular.block_rows(block.X)
        form = self.form = NumberColumns() if self.form is None else self.form
        prepared, own = form.of_arrays, width - block.indicators
        if not first and form.width is not None:
            expected = form.width - form.indicators if prepared is None else prepared.features - len(prepared.missing)
            if own != expected:
                raise ValueError(f"X has {own} features, but {self.options.owner} is expecting {expected}")
        if prepared is None and form.vocabulary is None:
            form.width, form.indicators = width, block.indicators
        return Records(rows, width, block.tasks, constant=block.constant)

    def raw_records(self, X: Any) -> RawRecords | None:
        """The records of ``X`` before their preparation; None if reading learns nothing from records."""
        form = self._known
        X = form.normalized_input(tabular.split_task(X, None, self.options.task_column)[0])
        if tabular.is_records(X):
            return RawRecords.of(list(X))
        if form.encoder is not None and tabular.is_frame(X):
            return RawRecords.of(X)
        if form.of_arrays is None:
            return None
        shape, options = Shape(form.width, form.names), self.options
        rows, _, _ = tabular.validated(options.owner, shape, X, "no_validation", False, None, gaps=True)
        return RawRecords.of(rows.values) if tabular.is_dense(rows) else None

    def read_raw(self, record: Any, task: NDArray[Any], learning: bool) -> Records:
        """Prepare one of :meth:`raw_records`, whose form is known."""
        form = self._known
        if isinstance(record, np.ndarray) and form.of_arrays is not None:
            rows, width = form.of_arrays.rows(Dense(record[None]), learning), form.of_arrays.features
        elif isinstance(record, Mapping):
            rows, width = form.read_one(record, learning)
        else:
            rows, width = form.read(record, learning)
        return Records(rows, width, task)

    def as_block(self, records: Records, y: NDArray[Any]) -> Block:
        """Records and labels as a validated block."""
        n, prepared = tabular.length(records.rows), self._known.preparation
        gaps = len(prepared.missing) if prepared is not None and tabular.is_dense(records.rows) else 0
        X = tabular.as_array(records.rows, records.width)
        return Block(X, y, records.task, np.arange(1, n + 1), indicators=gaps, constant=self._known.length_column)

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
    ) -> tuple[Any, int, Hashable]:
        """One record given as a dictionary: its row, the width, its task."""
        x, task = self.split_one(x, task, known)
        return *self._row(x, learning), task

    def _row(self, x: Any, learning: bool) -> tuple[Any, int]:
        """The row of a dictionary without its task, and the width."""
        form = Words.of(self.options.how) if self.form is None else self.form
        if learning:
            self.form = form
        return form.read_one(x, learning)

    @property
    def plain_records(self) -> PlainRecords | None:
        """The arrays by which compiled code reads dictionaries; None where Python has to read them."""
        return None if self.options.task_column is not None else self._known.plain_records

    # -- states ---------------------------------------------------------------------------------------------------

    def snapshot(self, fitted: bool) -> Undo:
        """A function that undoes what was noted of records since this call, for records that are refused."""
        form = self.form if fitted or isinstance(self.form, EncodedColumns) else None
        undo_form = None if self.form is None else self.form.snapshot()

        def undo() -> None:
            self.form = form
            if undo_form is not None:
                undo_form()

        return undo

    def first_tasks(self, tasks: Sequence[Hashable], coming: Sequence[Hashable]) -> Sequence[Hashable]:
        """The tasks named: others are met when their records come."""
        return tasks

    def size(self, records: Records) -> InputShape:
        """How wide a state must be for these records."""
        return InputShape(
            records.width,
            tabular.is_dense(records.rows),
            constant=self._known.length_column if records.constant is None else records.constant,
        )

    def began(self, state: Any) -> None:
        """Note nothing: records are read alike whatever the state is."""

    # -- what is known of records ---------------------------------------------------------------------------------

    @property
    def vocabulary(self) -> Vocabulary | None:
        """The columns of dictionaries' features."""
        return self._known.vocabulary

    @property
    def seen(self) -> Shape:
        """The columns of the arrays or frames learned from, whether these are read as arrays or by name."""
        form = self._known
        return form.frame if form.width is None else Shape(form.width, form.names)

    @property
    def bits(self) -> int | None:
        """Names of features are hashed to ``2**bits`` columns; None where each has a column of its own."""
        return self._known.bits

    @property
    def grows(self) -> bool:
        """True where records are dictionaries whose names get columns as they come."""
        return isinstance(self.form, Words)

    @property
    def feature_names(self) -> list[str] | None:
        """The names of the features where records had names: tables, and dictionaries that are not hashed."""
        return self._known.feature_names

    @property
    def constant(self) -> int | None:
        """The column of the constant, where there is one of its own."""
        return self._known.constant_column

    def entry_names(self, columns: Sequence[int], x: Mapping[Any, Any] | None = None) -> list[Hashable]:
        """The names of the features in some columns, for the record ``x`` if given; else the columns' numbers.

        Several features of a record that are hashed to one column are named together.
        """
        task = self.options.task_column
        if x is not None and task is not None:
            x = {name: held for name, held in x.items() if name != task}
        return self._known.entry_names(columns, x)

    # -- files ----------------------------------------------------------------------------------------------------

    def is_like(self, other: Input) -> bool:
        """Tell whether both have read dictionaries alike, and make the same rows of those to come."""
        if not all(isinstance(each.form, Words) for each in (self, other)):
            return False
        (mine, held), (its, others) = self.to_saved(), other.to_saved()
        return (self.options, mine, held.keys()) == (other.options, its, others.keys()) and all(
            array.tobytes() == others[name].tobytes() for name, array in held.items()
        )

    def to_saved(self) -> tuple[dict[str, Any], Arrays]:
        """Everything noted of records, as data with a JSON form and named arrays."""
        form = self._known
        noted = {"n_features_in_": form.width, "feature_names_in_": form.names}
        noted |= {"n_columns": form.frame.width, "columns": form.frame.names}
        data, arrays = form.to_saved()
        return {"kept": {name: held for name, held in noted.items() if held is not None}} | data, arrays

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
        kept = msgspec.convert(data["kept"], dict[str, Any])
        self.form = form_of(data, arrays, kept.get("n_features_in_"), kept.get("feature_names_in_"))
        self.form.frame = Shape(kept.get("n_columns"), kept.get("columns"))
        self._require_room(self.form, features)

    @staticmethod
    def _require_room(form: Form, features: int) -> None:
        """Refuse a form of records that does not fit a state with so many features: ValueError."""
        for shape in (Shape(form.width, form.names), form.frame):
            texts = shape.names is None or (
                isinstance(shape.names, np.ndarray) and set(map(type, shape.names.tolist())) <= {str}
            )
            fits = shape.names is None or shape.width == len(shape.names)
            require(texts and fits, "the names of columns are not one a column")
        require(type(form.frame.width) in (int, type(None)), "the number of columns is none")
        if form.width is not None:
            wide = form.width if form.of_arrays is None else form.of_arrays.features
            require(wide == features, f"records of {form.width!r} features do not fit")
        most = max(len(form.vocabulary or ()), 0 if form.encoder is None else form.encoder.n_features)
        require(most <= features, f"records of {most} features do not fit")


#: An :class:`Input`, or what is one in its own way.
AnyInput: TypeAlias = Input | Any


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
