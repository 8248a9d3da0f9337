"""Input of estimators: arrays, frames, dictionaries and blocks of files are converted to numeric rows and tasks.

There are three: :class:`Input` for records with one vector each, with an
:class:`coterie.data.input_encoders.InputEncoder` chosen at the first record;
:class:`coterie.data.view_input.ViewInput` for records with several views; and
:class:`coterie.data.instances.InstancesInput` for rounds with an instance of every task.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias, cast

import msgspec
import numpy as np

from coterie import spec
from coterie._compiled.core.checks import require
from coterie._compiled.core.records import Dense, split_unseen
from coterie.models.contract import InputShape
from coterie.tasks.index import Index
from coterie.types import (
    AnyLabels,
    AnyRecords,
    AnyRows,
    AnyTasks,
    Array,
    Arrays,
    Fields,
    Flags,
    Floats,
    Ints,
    Json,
    Learning,
    Record,
)

from . import tabular
from .block import Block, RawRecords
from .feature_keys import refuse_masked
from .input_encoders import ArrayEncoder, DictEncoder, InputEncoder, PlainRecords, TableEncoder, restore_encoder
from .input_encoders import InputOptions as InputOptions
from .label_encoders import LabelEncoder
from .tabular import Shape

if TYPE_CHECKING:
    from .record_encoders import RecordEncoder

Undo = Callable[[], None]


class Records(NamedTuple):
    """Encoded records: feature rows, their number of columns, tasks and labels.

    Attributes
    ----------
    rows, width
        The rows, without their weights, and the number of columns.
    task : ndarray
        The task of each record.
    shape : tuple of int, optional
        The shape of their margins, if it is not one number per row.
    constant : int, optional
        The column of the constant, as in a block.
    y, weights
        Their labels, and their sample weights, or None.
    learned : ndarray of bool, or None
        The records that are learned, the others having weight 0; None if all are.
    labels, values : LabelEncoder and ndarray, or None
        The label encoder after these labels, and the encoded labels; None until they are learned.
    """

    rows: AnyRows
    width: int
    task: AnyTasks
    shape: tuple[int, ...] | None = None
    constant: int | None = None
    y: AnyLabels = None
    weights: Floats | None = None
    learned: Flags | None = None
    labels: LabelEncoder | None = None
    values: Array | None = None

    def with_labels(self, y: AnyLabels, labels: LabelEncoder | None) -> Records:
        """Return these records with labels y. ``labels`` encodes them, and learns new ones, unless it is None."""
        return self._replace(y=y, labels=labels, values=None if labels is None else labels.values(y))

    def select(self, part: slice | Ints) -> Records:
        """Return the records at the indices ``part``, without those that are not learned."""
        rows, weights = self.rows, None if self.weights is None else self.weights[part]
        rows = rows.cut(part.start, part.stop) if isinstance(part, slice) else rows.take(part)
        return Records(rows, self.width, self.task[part], self.shape, self.constant, self.y[part], weights)


class ReadContext(NamedTuple):
    """Options of encoding records: the known tasks, the label encoder, and the records to learn from.

    Attributes
    ----------
    known : collection of labels
        The known tasks.
    labels : LabelEncoder or None
        The encoder of the labels to learn; None for records without labels.
    learning : bool or ndarray of bool
        True for records that change the encoder.
    first : bool
        True if these records determine the encoder.
    """

    known: Collection[Hashable] = ()
    labels: LabelEncoder | None = None
    learning: Learning = False
    first: bool = False


class Input:
    """Converts records with one feature vector each: arrays, sparse matrices, frames, dictionaries, file blocks.

    Attributes
    ----------
    form : InputEncoder
        The encoder of records, chosen at the first record; one of no records before.
    """

    has_tasks: ClassVar[bool] = True

    def __init__(self) -> None:
        self.options = InputOptions("")
        self.form = InputEncoder()

    def configure(self, options: InputOptions) -> None:
        """Set the options of reading, such as the task column and scaling."""
        self.options = options
        self._use(self.form)

    def _use(self, form: InputEncoder) -> InputEncoder:
        """Set the encoder of all later records to ``form``, and pass it the options."""
        self.form, form.counts_unseen, form.task_column = form, self.options.counts_unseen, self.options.task_column
        if form.preparation is not None:
            form.preparation.counts_unseen = form.counts_unseen
        return form

    @property
    def encoder(self) -> RecordEncoder | None:
        """The encoder of files and of tables with text columns; None for other records."""
        return self.form.encoder

    @encoder.setter
    def encoder(self, encoder: RecordEncoder | None) -> None:
        before = self.form
        if encoder is not None:
            form = self._use(TableEncoder(encoder))
            form.width, form.indicators, form.frame = before.width, before.indicators, before.frame

    # -- arrays, frames, lists of dictionaries --------------------------------------------------------------------

    def read(self, X: AnyRecords, y: AnyLabels, task: AnyTasks, context: ReadContext) -> Records:
        """Convert records of any form to `Records`, with tasks, and with encoded labels if they are to be learned."""
        known, labels, learning, first = context
        if isinstance(X, Block):
            return self.read_block(X, first).with_labels(y, labels)
        X, task = tabular.split_task(X, task, self.options.task_column)
        refuse_masked(X, "X")
        refuse_masked(y, "y")
        names = tabular.distinct_names(X) if tabular.is_frame(X) else None
        if is_records := tabular.is_records(X):
            tabular.require_records(X)
        form = self._chosen(X) if first or type(self.form) is InputEncoder else self.form
        by_name = form.read(X, learning) if is_records or names is not None else None
        if by_name is None:
            records = self._read_numbers(X, y, context)
        else:
            if first:
                self._use(form).frame = Shape.of_frame(names)
            y = y if labels is None else tabular.label_column(y, by_name[0].n_records)
            records = Records(*by_name, None).with_labels(y, labels)
        n = records.rows.n_records
        if first and labels is not None:
            tabular.warn_of_task(X, task)
            if task is None and self.options.expects_tasks and n > 1:
                tabular.warn_of_one_task(self.options.owner)
            tabular.warn_of_columns(X, records.y)
        return records._replace(task=tabular.task_labels(task, n, known))

    def _read_numbers(self, X: AnyRecords, y: AnyLabels, context: ReadContext) -> Records:
        """Read numeric arrays or frames X, and their labels y, after validation by scikit-learn."""
        options, labels, first = self.options, context.labels, context.first
        shape, prepared = Shape(self.form.width, self.form.names), self.form.of_arrays
        gaps = options.preprocesses if first else prepared is not None
        rows, y, values = tabular.validated(options.owner, shape, X, y, first, labels, gaps=gaps)
        width = cast(int, shape.width)
        if first:
            spec.check_labels(() if shape.names is None else shape.names.tolist(), "feature")
            numbers = tabular.column_numbers(width, options.task_column)
            columns = tabular.distinct_names(X) if tabular.is_frame(X) else numbers
            prepared = self._use(ArrayEncoder.for_columns(columns, shape.names, rows.dense, options)).preparation
        if prepared is not None:
            rows, width = prepared.rows(rows, context.learning), prepared.features
        return Records(rows, width, None, y=y, labels=labels, values=values)

    def _chosen(self, X: AnyRecords) -> InputEncoder:
        """Return the encoder that suits records X; the initial encoder for numeric arrays and frames."""
        options, frame, records = self.options, tabular.is_frame(X), tabular.is_records(X)
        if isinstance(self.form, TableEncoder) or (isinstance(self.form, DictEncoder) and (frame or records)):
            return self.form
        as_table = options.preprocesses and options.scale is not None and frame
        if as_table and not tabular.has_numbers_only(X):
            return TableEncoder.for_table(tabular.arrow_table(X), options)
        return DictEncoder.with_options(options) if records or tabular.has_words(X) else InputEncoder()

    # -- blocks ---------------------------------------------------------------------------------------------------

    def read_block(self, block: Block, first: bool) -> Records:
        """Convert a validated block to `Records`. ``first`` is True if it determines the number of columns."""
        rows, columns = tabular.block_rows(block.X)
        width = columns - block.unseen
        if not first:
            self._refuse_other_encoder(block)
        form = self._use(ArrayEncoder()) if type(self.form) is InputEncoder else self.form
        prepared, own, expected = form.of_arrays, width - block.indicators, None
        if prepared is not None:
            expected = prepared.features - len(prepared.missing)
        elif form.encoder is not None and form.frame.width is not None:
            expected = form.encoder.n_features - form.encoder.indicator_columns
        elif form.width is not None:
            expected = form.width - form.indicators
        if not first and expected not in (None, own):
            raise ValueError(f"X has {own} features, but {self.options.owner} is expecting {expected}")
        if prepared is None and form.vocabulary is None and form.frame.width is None:
            form.width, form.indicators = width, block.indicators
        return Records(rows, width, block.tasks, constant=block.constant)

    def _refuse_other_encoder(self, block: Block) -> None:
        """Raise ValueError if a block of a file has other columns than the training records."""
        form, encoder = self.form, None if block.raw is None else block.raw.encoder
        others = form.vocabulary is not None or form.of_arrays is not None
        if encoder is not None and (others or (form.encoder is not None and form.encoder.columns != encoder.columns)):
            raise ValueError(
                f"X has records of a file, but {self.options.owner} learned records with other columns before; "
                "learn all records from files, or all as dictionaries, frames or arrays"
            )

    def raw_records(self, X: AnyRecords) -> RawRecords | None:
        """Return the records before preprocessing; None if their preprocessing does not depend on earlier records."""
        form = self.form
        X = form.normalized_input(tabular.split_task(X, None, self.options.task_column)[0])
        if tabular.is_records(X):
            return RawRecords.from_all(list(X))
        if form.encoder is not None and tabular.is_frame(X):
            return RawRecords.from_all(X)
        if form.of_arrays is None:
            return None
        shape, options = Shape(form.width, form.names), self.options
        rows, _, _ = tabular.validated(options.owner, shape, X, None, False, None, gaps=True)
        return RawRecords.from_all(rows.values) if rows.dense else None

    def read_raw(self, record: AnyRecords, task: Array, learning: bool) -> Records:
        """Preprocess one record of the list that :meth:`raw_records` returned."""
        form = self.form
        if isinstance(record, np.ndarray) and form.of_arrays is not None:
            rows, width = form.of_arrays.rows(Dense(record[None]), learning), form.of_arrays.features
        elif isinstance(record, Mapping):
            rows, width = form.read_one(record, learning)
        else:
            rows, width = cast("tuple[tabular.Rows, int]", form.read(record, learning))
        return Records(rows, width, task)

    def as_block(self, records: Records, y: Array) -> Block:
        """Convert records and labels of any form to a validated `Block`."""
        n, prepared = records.rows.n_records, self.form.preparation
        gaps = len(prepared.missing) if prepared is not None and records.rows.dense else 0
        X = tabular.as_array(split_unseen(records.rows, records.width)[0], records.width)
        return Block(X, y, records.task, np.arange(1, n + 1), indicators=gaps, constant=self.form.length_column)

    # -- one record -----------------------------------------------------------------------------------------------

    def split_one(self, x: AnyRecords, task: Hashable, known: Collection[Hashable]) -> tuple[AnyRecords, Hashable]:
        """Split a dictionary x into its features and its task, which is ``task`` or the value of the task column."""
        if type(x) is not dict and not isinstance(x, Mapping):
            raise TypeError(
                f"one record must be a dictionary of features, got {type(x).__name__}; arrays are for several"
            )
        column = self.options.task_column
        if column is None:
            return x, tabular.default_task(known) if task is None else tabular.one_task(task)
        if task is not None:
            raise ValueError(f"the task is given twice, as task= and as task_column={column!r}")
        if column not in x:
            raise ValueError(f"the record has no task_column {column!r}; it has {list(x)[:10]}")
        return {name: value for name, value in x.items() if name != column}, tabular.one_task(x[column])

    def read_one(
        self, x: AnyRecords, task: Hashable, known: Collection[Hashable], learning: bool
    ) -> tuple[AnyRows, int, Hashable]:
        """Encode one dictionary x; return its feature row, the number of columns, and its task."""
        x, task = self.split_one(x, task, known)
        form = self.form
        if type(form) is InputEncoder:
            form = DictEncoder.with_options(self.options)
            if learning:
                self._use(form)
        return *form.read_one(x, learning), task

    @property
    def plain_records(self) -> PlainRecords | None:
        """Settings for the compiled fast path of dictionaries; None if it does not support these records."""
        return None if self.options.task_column is not None else self.form.plain_records

    # -- states ---------------------------------------------------------------------------------------------------

    def snapshot(self, fitted: bool) -> Undo:
        """Return a function that restores the current state, for the case that a later record is invalid."""
        form = self.form if fitted or isinstance(self.form, TableEncoder) else InputEncoder()
        undo_reading = form.snapshot()

        def undo() -> None:
            self.form = form
            undo_reading()

        return undo

    def first_tasks(self, tasks: Sequence[Hashable], coming: Sequence[Hashable]) -> Sequence[Hashable]:
        """Return the tasks with which a new model starts. Later tasks, ``coming``, are added at their first records."""
        return tasks

    def size(self, records: Records) -> InputShape:
        """Return the shape (numbers of features and tasks) that a model needs for these records."""
        constant = records.constant
        if constant is None:
            constant = -1 if self.form.preparation is None else self.form.length_column
        return InputShape(records.width, isinstance(records.rows, Dense), constant=constant)

    def on_state_created(self, state: Any) -> None:
        """Do nothing when a model has been created; a subclass may store the model's tasks."""

    # -- knowledge of the records ---------------------------------------------------------------------------------

    @property
    def seen(self) -> Shape:
        """The number and the names of the columns of the arrays or frames learned from."""
        form = self.form
        return form.frame if form.width is None else Shape(form.width, form.names)

    def first_width(self, width: int) -> int:
        """Return the columns of ``width`` that a new model has: all but those for new names and missing values."""
        prepared = self.form.of_arrays
        gaps = self.form.indicators if prepared is None else len(prepared.missing)
        return 1 if isinstance(self.form, DictEncoder) else width - gaps

    def entry_names(self, columns: Sequence[int], x: Record | None = None) -> list[Hashable]:
        """Return the names of the features in these columns; for hashed columns, those that occur in record ``x``.

        Features of a record that are hashed to one column are named together.
        """
        task = self.options.task_column
        if x is not None and task is not None:
            x = {name: value for name, value in x.items() if name != task}
        return self.form.entry_names(columns, x)

    # -- files ----------------------------------------------------------------------------------------------------

    def is_like(self, other: Input) -> bool:
        """Return True if ``other`` reads dictionaries with the same encoder state and options."""
        if not (isinstance(self.form, DictEncoder) and isinstance(other.form, DictEncoder)):
            return False
        (own, arrays), (data, others) = self.to_saved(), other.to_saved()
        return (self.options, own, arrays.keys()) == (other.options, data, others.keys()) and all(
            array.tobytes() == others[name].tobytes() for name, array in arrays.items()
        )

    def to_saved(self) -> tuple[Json, Arrays]:
        """Return the state of the input as JSON data and named arrays."""
        form = self.form
        columns = {"n_features_in_": form.width, "feature_names_in_": form.names}
        columns |= {"n_columns": form.frame.width, "columns": form.frame.names}
        data, arrays = form.to_saved()
        return {"kept": {name: value for name, value in columns.items() if value is not None}} | data, arrays

    def index_of(self, data: Fields) -> Index:
        """Return the numbering of the tasks in saved data; raise ValueError for a duplicate task."""
        labels = spec.labels_of(data["tasks"])
        index = Index(labels)
        require(len(index) == len(labels), "a task occurs twice")
        return index

    def from_saved(self, data: Fields, arrays: Arrays, state: Any) -> None:
        """Restore the result of :meth:`to_saved`; raise ValueError if it contradicts ``state``, the model's state."""
        self.restore_form(data, arrays, state.features)

    def restore_form(self, data: Fields, arrays: Arrays, features: int) -> None:
        """Restore the encoder from saved data; raise ValueError if it does not have this number of features."""
        noted = msgspec.convert(data["kept"], Json)
        names = noted.get("feature_names_in_")
        form = self._use(restore_encoder(data, arrays, noted.get("n_features_in_"), names))
        form.frame = Shape(noted.get("n_columns"), noted.get("columns"))
        for shape in (Shape(form.width, form.names), form.frame):
            texts = shape.names is None or (
                isinstance(shape.names, np.ndarray) and set(map(type, shape.names.tolist())) <= {str}
            )
            fits = shape.names is None or shape.width == len(shape.names)
            require(texts and fits, "there is not one name per column")
        require(type(form.frame.width) in (int, type(None)), "the number of columns is not a number")
        if form.width is not None:
            wide = form.width if form.of_arrays is None else form.of_arrays.features
            require(wide == features, f"records of {form.width!r} features do not fit")
        most = max(len(form.vocabulary or ()), 0 if form.encoder is None else form.encoder.n_features)
        require(most <= features, f"records of {most} features do not fit")


#: An :class:`Input`, or an object with its methods.
AnyInput: TypeAlias = Input | Any
