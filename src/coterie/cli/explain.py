"""``coterie explain``."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from coterie.data.errors import InputError
from coterie.wording import counted, nearest, table

from .failures import UsageError
from .options import JSON, Model, OptionSet, option

if TYPE_CHECKING:
    from coterie.evaluation.explanation import Explanation, Weights
    from coterie.types import Estimator, Json

T = TypeVar("T")

#: The most tasks that are compared.
MOST = 2000

Record = Annotated[
    str | None, typer.Argument(metavar="[RECORD]", help="A record to explain, as a JSON object with its columns.")
]


@dataclass(frozen=True, kw_only=True)
class ExplainOptions(OptionSet):
    """Options of ``explain``: the task to explain, and the output format."""

    task: str | None = option("TASK", "The task to explain, or the task of the record.", None, "-t")
    top: int = option("N", "Show the N largest.", 20, min=1)
    json: bool = option(None, JSON, False)


def explain(model: Model, options: ExplainOptions, record: Record = None) -> None:
    """Show the most important features of a model, one of its tasks or a record, and the tasks that share.

    Without a record, these are the largest weights that all tasks share, and how the tasks share. With --task, these
    are the weights in which the task differs most from the shared ones, and its neighbours, the tasks that share most
    with it. At most five categories of one column are shown. For a record, it is the part of the margin that each
    feature contributes; the parts add up to the margin.

    For example:

        coterie explain clicks.coterie
        coterie explain clicks.coterie --task ann
        coterie explain clicks.coterie '{"user": "ann", "price": 2.5, "shop": "north"}'
    """
    from coterie.data.task_names import find_tasks
    from coterie.evaluation.explanation import listed_weights
    from coterie.evaluation.stream_model import goes_on

    from .models import load_any
    from .printing import print_lines, print_result

    trained, path, task, top = load_any(model), str(model), options.task, options.top
    if hasattr(trained, "n_rewards_"):
        if record is not None:
            raise UsageError(f"{path!r} contains a bandit; use explain(x, action) in Python")
        trained = trained.model_
    if not goes_on(trained):
        kind = type(trained).__name__
        raise InputError(f"contains a batch model ({kind}), which has no weights to explain", path)
    names = getattr(getattr(trained, "encoder_", None), "names", None)
    if names is not None and not names.enabled:
        names = None
    counts = None if names is None else {"names": len(names), "collisions": names.collisions, "dropped": names.dropped}
    result: Json = {"model": model, "names": counts}
    if record is None:
        known_task = None if task is None else find_tasks(trained, [task], path)[0]
        weights = listed_weights(trained, known_task, top)
        sharing = describe_sharing(trained, path, task, top)
        result |= {"task": task, "weights": _to_json(weights, lambda rows: [row._asdict() for row in rows])}
        result |= {"sharing": sharing}
        title = "Largest weights that all tasks share"
        title = title if task is None else f"Where {task} differs most from what is shared"
        groups = [_weight_lines(title, label, rows) for label, rows in _by_class(weights).items()]
        groups += [] if sharing is None else [_sharing_lines(sharing, task)]
    else:
        owner, explanations = explain_record(trained, path, record, task)
        result |= {"task": owner, "explanation": _to_json(explanations, lambda parts: _parts_to_json(parts, top))}
        groups = [_part_lines(label, parts, owner, top) for label, parts in _by_class(explanations).items()]
    if options.json:
        print_result("explain", result)
    else:
        print_lines(*groups, [] if counts is None else _name_lines(**counts))


def _by_class(result: T | dict[Hashable, T]) -> dict[Hashable, T]:
    return result if isinstance(result, dict) else {None: result}


def _to_json(result: T | dict[Hashable, T], convert: Callable[[T], object]) -> object:
    """Convert weights or an explanation to JSON data; for multiclass models a list with one item per class."""
    if not isinstance(result, dict):
        return convert(result)
    return [{"class": label, "of_class": convert(value)} for label, value in result.items()]


def _parts_to_json(explanation: Explanation, top: int) -> Json:
    numbers = {name: getattr(explanation, name) for name in ("margin", "base", "rest", "rest_of")}
    return numbers | {
        "parts": [part._asdict() for part in explanation.parts[:top]],
        "other_parts": sum(part.part for part in explanation.parts[top:]),
    }


def _weight_lines(title: str, label: Hashable, weights: Weights) -> Iterator[str]:
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
    if not (collisions or dropped):
        return []
    has = "has" if collisions == 1 else "have"
    several = f"; {counted(collisions, 'column')} {has} several" if collisions else ""
    lost = f"; features without room for their names came {dropped:,} times" if dropped else ""
    return [f"Names kept of hashed features: {names:,}{several}{lost}."]


# -- sharing ----------------------------------------------------------------------------------------------------------


def describe_sharing(model: Estimator, path: str, task: str | None, top: int) -> Json | None:
    """Return the nearest tasks of a task with their correlations, or (without a task) the fraction that tasks share.

    ``uniform`` is the share of every pair of tasks if it is the same for all. None for a model without a relation
    between tasks.
    """
    import numpy as np

    from coterie.data.task_names import find_tasks
    from coterie.estimators.selective import base_model
    from coterie.evaluation.explanation import correlations, nearest_tasks

    if not hasattr(type(base_model(model)), "relation_matrix_"):
        return None
    if not model.__sklearn_is_fitted__():
        raise ValueError("the model has no tasks, because it has not learned any record")
    R = correlations(model, model.tasks_[:MOST])
    pairs = R[~np.eye(len(R), dtype=bool)]
    uniform = float(pairs[0]) if len(pairs) and np.ptp(pairs) < 1e-9 else None
    if task is not None:
        shared = nearest_tasks(model, find_tasks(model, [task], path)[0], top)
    else:
        shares = getattr(model, "sharing_", None)
        learned = [] if shares is None else zip(model.tasks_, shares.tolist(), strict=True)
        shared = sorted(learned, key=lambda pair: -pair[1])[:top]
    values = [{"task": task, "share": share} for task, share in shared]
    return {"relation": _name_relation(model), "tasks": len(model.tasks_), "uniform": uniform, "values": values}


def _sharing_lines(sharing: Json, task: str | None) -> Iterator[str]:
    yield f"{sharing['relation']}: {counted(sharing['tasks'], 'task')}"
    if sharing["uniform"] is not None and sharing["tasks"] > 1:
        yield f"Every pair shares the same: {sharing['uniform']:.3g} of what a task learns reaches each other task."
    if sharing["values"]:
        learned = "Learned shares (0: a model of its own, 1: the model of all tasks)"
        yield learned if task is None else f"Tasks that share most with {task}"
        yield from table(["task", "share"], [[str(row["task"]), f"{row['share']:.3g}"] for row in sharing["values"]])


def _name_relation(model: Estimator) -> str:
    """Return the relation of a model as text, without the values that it stores for single tasks."""
    from coterie.estimators.selective import base_model

    model = base_model(model)
    while inner := getattr(model, "_within", None):
        model = inner  # the model of each class
    if "relation" not in model.get_params(deep=False):
        return f"{type(model).__name__}({', '.join(getattr(model, 'members_', ()))})"
    return _name_part(model._relation_used)


def _name_part(relation: Any) -> str:
    """Return a part as text: its class name with the parameters that are not defaults."""
    from coterie.settings import is_number
    from coterie.tasks.relations import Primed

    arguments = [_name_part(relation.relation)] if isinstance(relation, Primed) else []
    for parameter in fields(relation):
        value = getattr(relation, parameter.name)
        if (is_number(value) or isinstance(value, str)) and value != parameter.default:
            arguments.append(f"{parameter.name}={value!r}")
    return f"{type(relation).__name__}({', '.join(arguments)})"


# -- records ----------------------------------------------------------------------------------------------------------


def explain_record(
    model: Estimator, path: str, record: str, name: str | None
) -> tuple[Hashable, Explanation | dict[Hashable, Explanation]]:
    """Return the task and the explanation of one record in JSON.

    Parameters
    ----------
    model : online estimator
        A model that learned from files.
    path : str
        Its file, for errors.
    record : str
        A JSON object, ``{"column": value, ...}``.
    name : str, optional
        The name of the task, if the record has none or another task is meant.

    Raises
    ------
    InputError
        If the text is not a record, or the model does not support it or its task.
    """
    from coterie.evaluation.stream_model import stream_model_of

    x, task = _read_json(model, record)
    task = task if name is None else _find_task(model, name, path)
    if task is None and len(stream_model_of(model).population.tasks.labels) > 1:
        raise InputError("the record has no task; pass --task")
    return task, model.explain(x, task)


def _find_task(model: Estimator, name: str, path: str) -> Hashable:
    """Return the task with this name; an unknown name is itself a new task."""
    from coterie.data.task_names import find_tasks

    try:
        return find_tasks(model, [name], path)[0]
    except InputError:
        is_number = name.lstrip("-").isdecimal() and all(isinstance(task, int) for task in model.tasks_)
        return int(name) if is_number else name


def _read_json(model: Estimator, record: str) -> tuple[Json, Hashable]:
    import msgspec

    from coterie.data.record_encoders import RecordEncoder
    from coterie.evaluation.stream_model import stream_model_of

    try:
        values = msgspec.json.decode(record, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise InputError(f"the record is not a JSON object: {error}") from None
    encoder = stream_model_of(model).encoder if hasattr(model, "encoder_") else None
    task = None if encoder is None or encoder.task is None else values.pop(encoder.task, None)
    if isinstance(encoder, RecordEncoder):
        columns = [name for name, _ in encoder.columns]
        missing = [column for column in columns if column not in values]
        for name in values:
            if name not in columns and (hint := nearest(name, missing)):
                warnings.warn(f"the model has no column {name!r}{hint}", UserWarning, stacklevel=2)
    return values, None if task is None else _find_task(model, str(task), "the record")
