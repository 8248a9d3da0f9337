"""``coterie explain``."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from .failures import UsageError
from .options import JSON, Model, OptionSet, option

if TYPE_CHECKING:
    from coterie.explanation import Explanation, Weights

#: The most tasks that are compared.
MOST = 2000

Record = Annotated[
    str | None,
    typer.Argument(
        metavar="[RECORD]",
        help="A record to explain: a JSON object, or `FILE:PLACE` with the line or row that `predict` prints.",
    ),
]


@dataclass(frozen=True, kw_only=True)
class ExplainOptions(OptionSet):
    """The task to explain, and the form of the printed result."""

    task: str | None = option("TASK", "The task to explain, or the task of the record.", None, "-t")
    top: int = option("N", "Show the N largest.", 20, min=1)
    json: bool = option(None, JSON, False)


def explain(model: Model, options: ExplainOptions, record: Record = None) -> None:
    """Show the most important features of a model, one of its tasks or a record, and the tasks that share.

    Without a record, these are the largest weights that all tasks share, and how the tasks share. With --task, these
    are the weights in which the task differs most from the shared ones, and its neighbours, the tasks that share most
    with it. At most five values of one column are shown. For a record, it is the part of the margin that each feature
    contributes; the parts add up to the margin.

    For example:

        coterie explain clicks.coterie
        coterie explain clicks.coterie --task ann
        coterie explain clicks.coterie today.csv:17
        coterie explain clicks.coterie '{"user": "ann", "price": 2.5, "shop": "north"}'
    """
    from coterie.evaluation.stream_model import goes_on
    from coterie.explanation import listed_weights
    from coterie.inputs.errors import InputError
    from coterie.inputs.task_names import find_tasks

    from .models import load_any
    from .printing import print_lines, print_result

    trained, path, task, top = load_any(model), str(model), options.task, options.top
    if hasattr(trained, "n_rewards_"):
        if record is not None:
            raise UsageError(f"{path!r} holds a bandit: in Python, explain(x, action) explains a choice")
        trained = trained.model_
    if not goes_on(trained):
        kind = type(trained).__name__
        raise InputError(f"holds a batch model ({kind}), of whose records no weights are stored to explain by", path)
    names = getattr(getattr(trained, "encoder_", None), "names", None)
    if names is not None and not names.enabled:
        names = None
    counts = None if names is None else {"names": len(names), "collisions": names.collisions, "dropped": names.dropped}
    result: dict[str, Any] = {"model": model, "names": counts}
    if record is None:
        known_task = None if task is None else find_tasks(trained, [task], path)[0]
        weights = listed_weights(trained, known_task, top)
        sharing = describe_sharing(trained, path, task, top)
        result |= {"task": task, "weights": _to_json(weights, lambda rows: [row._asdict() for row in rows])}
        result |= {"sharing": None if sharing is None else sharing.to_json()}
        title = "Largest weights that all tasks share"
        title = title if task is None else f"Where {task} differs most from what is shared"
        groups = [_weight_lines(title, label, rows) for label, rows in _by_class(weights).items()]
        groups += [] if sharing is None else [sharing.lines()]
    else:
        owner, explanations = explain_record(trained, path, record, task)
        result |= {"task": owner, "explanation": _to_json(explanations, lambda parts: _parts_to_json(parts, top))}
        groups = [_part_lines(label, parts, owner, top) for label, parts in _by_class(explanations).items()]
    if options.json:
        print_result("explain", result)
    else:
        print_lines(*groups, [] if counts is None else _name_lines(**counts))


def _by_class(result: Any) -> dict[Hashable, Any]:
    return result if isinstance(result, dict) else {None: result}


def _to_json(result: Any, convert: Callable[[Any], Any]) -> Any:
    """Convert weights or an explanation to JSON data; for many classes, to a list with an item for each class."""
    if not isinstance(result, dict):
        return convert(result)
    return [{"class": label, "of_class": convert(value)} for label, value in result.items()]


def _parts_to_json(explanation: Explanation, top: int) -> dict[str, Any]:
    return {
        "margin": explanation.margin,
        "base": explanation.base,
        "rest": explanation.rest,
        "rest_of": explanation.rest_of,
        "parts": [part._asdict() for part in explanation.parts[:top]],
        "other_parts": sum(part.part for part in explanation.parts[top:]),
    }


def _weight_lines(title: str, label: Hashable, weights: Weights) -> Iterator[str]:
    from coterie.wording import table

    yield title if label is None else f"{title}, for {label}"
    if weights:
        yield from table(*weights.table())
    else:
        yield "  nothing: no feature has such a weight"


def _part_lines(label: Hashable, explanation: Explanation, task: Hashable, top: int) -> Iterator[str]:
    suffix = "" if task is None else f" of task {task}"
    yield f"What makes the margin{suffix}" if label is None else f"What makes the margin for {label}{suffix}"
    yield from explanation.lines(top)


def _name_lines(names: int, collisions: int, dropped: int) -> list[str]:
    from coterie.wording import counted

    if not (collisions or dropped):
        return []
    has = "has" if collisions == 1 else "have"
    several = f"; {counted(collisions, 'column')} {has} several" if collisions else ""
    lost = f"; features without room for their names came {dropped:,} times" if dropped else ""
    return [f"Names kept of hashed features: {names:,}{several}{lost}."]


# -- sharing ----------------------------------------------------------------------------------------------------------


class Sharing(NamedTuple):
    """The tasks that share most with one task, or how the tasks of a model share.

    Attributes
    ----------
    relation : str
        The relation, with its parameters.
    tasks : int
        The number of tasks.
    uniform : float or None
        The share of every pair of tasks, if it is the same for all.
    heading : str
        The meaning of the values.
    values : list of (task, number)
        The neighbours of a task and their correlations, or tasks and their learned shares, the largest first.
    """

    relation: str
    tasks: int
    uniform: float | None
    heading: str
    values: list[tuple[Hashable, float]]

    def lines(self) -> Iterator[str]:
        """Yield the lines of a table."""
        from coterie.wording import counted, table

        yield f"{self.relation}: {counted(self.tasks, 'task')}"
        if self.uniform is not None and self.tasks > 1:
            yield f"Every pair shares the same: {self.uniform:.3g} of what a task learns reaches each other task."
        if self.values:
            yield self.heading
            yield from table(["task", "share"], [[str(task), f"{value:.3g}"] for task, value in self.values])

    def to_json(self) -> dict[str, Any]:
        """Return the sharing as JSON data."""
        values = [{"task": task, "share": value} for task, value in self.values]
        return {"relation": self.relation, "tasks": self.tasks, "uniform": self.uniform, "values": values}


def describe_sharing(model: Any, path: str, task: str | None, top: int) -> Sharing | None:
    """Return the neighbours of a task, or how all tasks share; None if the model has no relation between tasks."""
    import numpy as np

    from coterie.explanation import correlations, nearest_tasks
    from coterie.inputs.task_names import find_tasks
    from coterie.online.selective import base_model

    if not hasattr(type(base_model(model)), "relation_matrix_"):
        return None
    if not model.__sklearn_is_fitted__():
        raise ValueError("the model has learned nothing yet, so it has no tasks")
    R = correlations(model, model.tasks_[:MOST])
    pairs = R[~np.eye(len(R), dtype=bool)]
    uniform = float(pairs[0]) if len(pairs) and np.ptp(pairs) < 1e-9 else None
    if task is not None:
        heading = f"Tasks that share most with {task}"
        values = nearest_tasks(model, find_tasks(model, [task], path)[0], top)
    else:
        heading = "Learned shares (0: a model of its own, 1: the model of all tasks)"
        shares = getattr(model, "sharing_", None)
        learned = [] if shares is None else zip(model.tasks_, shares.tolist(), strict=True)
        values = sorted(learned, key=lambda pair: -pair[1])[:top]
    return Sharing(_name_relation(model), len(model.tasks_), uniform, heading, values)


def _name_relation(model: Any) -> str:
    """Return the relation of a model, without the values that it stores for single tasks."""
    from coterie.online.selective import base_model

    model = base_model(model)
    while inner := getattr(model, "_within", None):
        model = inner  # the model of each class
    if "relation" not in model.get_params(deep=False):
        return f"{type(model).__name__}({', '.join(getattr(model, 'members_', ()))})"
    return _name_part(model._relation_used)


def _name_part(relation: Any) -> str:
    """Return a relation with those of its numbers and words that are not the default."""
    from coterie.relations import Primed
    from coterie.settings import is_number

    arguments = [_name_part(relation.relation)] if isinstance(relation, Primed) else []
    for parameter in fields(relation):
        value = getattr(relation, parameter.name)
        if (is_number(value) or isinstance(value, str)) and value != parameter.default:
            arguments.append(f"{parameter.name}={value!r}")
    return f"{type(relation).__name__}({', '.join(arguments)})"


# -- records ----------------------------------------------------------------------------------------------------------


def explain_record(model: Any, path: str, record: str, name: str | None) -> tuple[Hashable, Any]:
    """Return the task and the explanation of one record, a JSON object or a place in a file.

    Parameters
    ----------
    model : online estimator
        A model that learned from files.
    path : str
        Its file, for errors.
    record : str
        ``{"column": value, ...}``, or ``FILE:PLACE`` with the line or row that ``predict`` prints.
    name : str, optional
        The name of the task, if the record has none or another task is meant.

    Raises
    ------
    InputError
        If the text is no record, or the model cannot read it or refuses its task.
    """
    from coterie.evaluation.stream_model import stream_model_of
    from coterie.inputs.errors import InputError

    values: dict[str, Any] | None = None
    if record.lstrip().startswith("{"):
        x, task = _read_json(model, record)
    else:
        x, task, values = _read_place(model, record)
    task = task if name is None else _find_task(model, name, path)
    if task is None and len(stream_model_of(model).population.labels) > 1:
        raise InputError("the record does not name its task: give --task")
    result = model.explain(x, task)
    if values is None:
        return task, result
    if isinstance(result, dict):
        return task, {label: explanation.giving(values) for label, explanation in result.items()}
    return task, result.giving(values)


def _find_task(model: Any, name: str, path: str) -> Hashable:
    """Return the task of a name; the name itself, as a new task, if the model does not know it."""
    from coterie.inputs.errors import InputError
    from coterie.inputs.task_names import find_tasks

    try:
        return find_tasks(model, [name], path)[0]
    except InputError:
        is_number = name.lstrip("-").isdecimal() and all(isinstance(task, int) for task in model.tasks_)
        return int(name) if is_number else name


def _read_json(model: Any, record: str) -> tuple[Mapping[str, Any], Hashable]:
    import msgspec

    from coterie.evaluation.stream_model import stream_model_of
    from coterie.inputs.encoding import Encoder
    from coterie.inputs.errors import InputError
    from coterie.wording import nearest

    try:
        values = msgspec.json.decode(record, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise InputError(f"the record is no JSON object: {error}") from None
    encoder = stream_model_of(model).encoder if hasattr(model, "encoder_") else None
    task = None if encoder is None or encoder.task is None else values.pop(encoder.task, None)
    if isinstance(encoder, Encoder):
        columns = [name for name, _ in encoder.columns]
        missing = [column for column in columns if column not in values]
        for name in values:
            if name not in columns and (hint := nearest(name, missing)):
                warnings.warn(f"the model has no column {name!r}{hint}", UserWarning, stacklevel=2)
    return values, None if task is None else _find_task(model, str(task), "the record")


def _read_place(model: Any, record: str) -> tuple[Any, Hashable, dict[str, Any]]:
    """Return a record of a file, its task, and its numbers and dates as they are written there."""
    from coterie.inputs.errors import InputError
    from coterie.io.readers import read

    path, colon, place = record.rpartition(":")
    if not (colon and place.isdecimal() and path):
        raise InputError(f"{record!r} is no record: give a JSON object, or FILE:PLACE with the line or row of one")
    if not hasattr(model, "encoder_"):
        raise InputError("this model did not learn from a file, so it does not know how to read one: give JSON")
    kinds = {name: kind for name, kind in model.encoder_.columns if kind in ("numeric", "date")}
    reader = read(path, encoder=model.encoder_, update=False, keep=list(kinds), on_error="skip")
    for block in reader:
        for row in (block.place == int(place)).nonzero()[0][:1].tolist():
            one = block.piece(row, row + 1)
            values = {name: _read_number(column[0], kinds[name]) for name, column in one.unchanged.items()}
            return one.X, None if one.task is None else one.tasks[0], values
    for reason in reader.skipped_examples:
        if reason.startswith(f"{path}:{place}: "):
            raise InputError(reason)
    raise InputError(f"has no record in line or row {place}{' that can be read' if reader.skipped else ''}", path)


def _read_number(value: Any, kind: str) -> Any:
    """Convert the text of a numeric column to a number."""
    if kind == "numeric" and isinstance(value, str):
        with suppress(ValueError):
            return float(value)
    return value
