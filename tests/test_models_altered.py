"""Model files altered by somebody who can make a checksum fit: refused by ValueError, or models that are safe to use.

A file of a model is altered in its numbers, shapes, types, names and document; then it is loaded, predicts,
learns, predicts, is saved and loaded again, in a process of its own that has to answer in time. What comes out of it is
one of: ``accepted``; ``refused`` when loaded, or ``stopped`` later, by a ValueError; anything else is a failure.

`python tests/test_models_altered.py 50000` is the longest run: it alters files of all kinds and prints how they ended.
With ``NUMBA_BOUNDSCHECK=1`` and a ``NUMBA_CACHE_DIR`` of its own it finds what is read outside of arrays, too.
"""

import contextlib
import random
import re
import resource
import select
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pytest
import scipy.sparse as sp
from safetensors.numpy import save as pack

import coterie as ct
from coterie import persistence, spec
from coterie._compiled.trees import MOST_COUNT
from kinds import MODELS, QUICK, as_file, form_of, learned, predictions, records, taught
from slow import slow
from terminal import fork
from test_persistence import rewritten as with_arrays

#: A file must have ended in this many seconds; the first use of a kind may have to be compiled.
SECONDS, SECONDS_AT_FIRST = 30.0, 600.0

#: What is said of a file that has not ended by then.
LATE = "FAILED no answer in"

#: Files that a plain run and the slow one alter.
FEW, MANY = 44, 1000

#: Kinds whose explanations compile what nothing else does: their first files are not explained.
SELDOM = ("AROW", "perceptron-graph", "perceptron-half-life", "perceptron-log-det")

WHOLE = [-(2**63), -(2**31), -2, -1, 0, 1, 2, 3, 4, 7, 8, 12, 64, 100, 300_000, 8_000_000, 2**31 - 1, 2**31]
WHOLE += [MOST_COUNT - 1000, 2**62, 2**63 - 1]
NUMBERS = [np.nan, np.inf, -np.inf, 0.0, -0.0, -1.0, 0.5, 1e-300, 1e300, -1e300, 1e16, 1e149, -1e149, 1e17]
SIZES = [5e-324, 1e-300, 1e-200, 1e-99, 1e-20, 1e20, 1e99, 1e200, 1e300, 2**53 + 1, 2**63 - 1, 2**63, 2**70, 0, -1, 0.5]
ODD = [None, True, False, -1, 0, 1, 7, 2**31, 2**63 - 1, 2**70, 0.5, -1.5, 1e308, "", "x", "no", [], [1], {}, {"$float": "nan"},
       {"$tuple": []}, {"$dict": []}, {"$dict": [["a", 1.0]]}, {"$list": []}, {"$array": "AAAA", "dtype": "|u1", "shape": [3]},
       {"$part": "Pooled", "fields": {}}, {"$model": "MultitaskPerceptron", "parameters": {}}]  # fmt: skip


# -- what is altered ---------------------------------------------------------------------------------------------------


def altered(metadata: dict[str, str], tensors: dict[str, Any], rng: random.Random) -> bytes:
    """A model file with one to three alterations, whose checksum fits."""
    metadata, tensors = dict(metadata), dict(tensors)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        names = [name for name in tensors if name not in ("document", "spec")]
        kinds = {"number": 8, "shape": 3, "type": 2, "names": 1, "document": 4, "spec": 1, "parameter": 2}
        kind = rng.choices(list(kinds), list(kinds.values()))[0]
        if kind in ("document", "spec", "parameter") or not names:
            where = "spec" if kind in ("spec", "parameter") else "document"
            inline = where == "spec" and "spec" not in tensors
            data = msgspec.json.decode(metadata["spec"].encode() if inline else tensors[where].tobytes())
            changed_document = msgspec.json.encode(extreme(data, rng) if kind == "parameter" else replanted(data, rng))
            if inline:
                metadata["spec"] = changed_document.decode()
            else:
                tensors[where] = np.frombuffer(changed_document, np.uint8)
            continue
        name = rng.choice(names)
        if kind == "number":
            tensors[name] = renumbered(tensors[name], rng)
        elif kind == "shape":
            tensors[name] = reshaped(tensors[name], rng)
        elif kind == "type":
            with np.errstate(all="ignore"):
                tensors[name] = tensors[name].astype(rng.choice(["f4", "f8", "i4", "i8", "u1", "u8", "?"]))
        else:
            other = rng.choice([*names, "x", "predict", f"{name}|shape", f"{name}|at", f"{name}|values"])
            tensor = tensors.pop(name)
            if rng.random() < 0.7:
                tensors[other] = tensor
    tensors = {name: np.ascontiguousarray(array) for name, array in tensors.items()}
    metadata["checksum"] = persistence._checksum(metadata, tensors)
    return pack(tensors, metadata)


def renumbered(array: Any, rng: random.Random) -> Any:
    """Some numbers are others."""
    changed = array.copy()
    if not changed.size:
        return changed
    for _ in range(rng.choice([1, 1, 2, 5])):
        place = np.unravel_index(rng.randrange(changed.size), changed.shape)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if changed.dtype.kind == "f":
                other = float(changed.flat[rng.randrange(changed.size)])
                changed[place] = rng.choice([*NUMBERS, -changed[place], 2 * changed[place], other])
            else:
                here, other = int(changed[place]), int(changed.flat[rng.randrange(changed.size)])
                chosen = rng.choice([*WHOLE, here + 1, here - 1, 2 * here, here ^ 4, other])
                changed[place] = np.array(chosen % 2**64, np.uint64).astype(changed.dtype)
    return changed


def reshaped(array: Any, rng: random.Random) -> Any:
    """Rows are missing, or too many; axes are others."""
    changes = [lambda: array.T, lambda: array.reshape(-1), lambda: array[None]]
    changes += [lambda: np.zeros(rng.choice([0, 1, 3]), array.dtype)]
    if array.ndim:
        changes += [lambda: array[: rng.randrange(len(array) + 1)], lambda: np.concatenate([array] * 2)]
        changes += [lambda: np.concatenate([array, array[:1]]), lambda: array[..., :0], lambda: array[..., :1]]
    return rng.choice(changes)()


def replanted(data: Any, rng: random.Random) -> Any:
    """JSON data with one place altered: another value, one less, one twice, two exchanged."""
    data = msgspec.json.decode(msgspec.json.encode(data))
    places = list(_places(data))
    if not places:
        return rng.choice(ODD)
    holder, key = rng.choice(places)
    edit = rng.randrange(6)
    if edit == 0:
        del holder[key]
    elif edit == 1 and isinstance(holder, list):
        holder.insert(key, holder[key])
    elif edit == 2:
        other, its = rng.choice(places)
        if key in holder if isinstance(holder, dict) else key < len(holder):
            holder[key] = msgspec.json.decode(msgspec.json.encode(other[its]))
    elif edit == 3 and type(holder[key]) in (int, float):
        holder[key] = rng.choice([holder[key] + 1, holder[key] - 1, -holder[key], holder[key] * 1000, *WHOLE])
    elif edit == 4 and isinstance(holder, dict):
        holder[rng.choice(["kind", "fields", "n_features_in_", "x", str(key) + "x"])] = holder.pop(key)
    else:
        holder[key] = rng.choice(ODD)
    return data


def extreme(data: Any, rng: random.Random) -> Any:
    """JSON data of which one number is of a size at which arithmetic ends."""
    places = [(holder, key) for holder, key in _places(data) if type(holder[key]) in (int, float)]
    if places:
        holder, key = rng.choice(places)
        holder[key] = rng.choice(SIZES)
    return data


def _places(data: Any) -> Iterator[tuple[Any, Any]]:
    for key in data if isinstance(data, dict) else range(len(data)) if isinstance(data, list) else ():
        yield data, key
        yield from _places(data[key])


# -- what is done with it ----------------------------------------------------------------------------------------------


def used(path: Path, form: str, explains: bool = True) -> str:
    """Load a file and use what it holds; returns how far that went before a ValueError, and which."""
    stage = "refused"
    try:
        model = ct.load(path)
        stage = "stopped"
        predictions(model, form)
        if hasattr(model, "learn_one"):
            taught(model, form)
            predictions(model, form)
        for name in ("relation_matrix_", "tasks_", "classes_", "memory_", "coef_"):
            with contextlib.suppress(AttributeError):
                getattr(model, name)
        if explains:
            explained(model, form)
        repr(model)
        model.save(path)
        try:
            ct.load(path)
        except ValueError as error:
            raise AssertionError(f"what it saved is refused: {error}") from None
        forgotten(model, form)
    except ValueError as error:
        return f"{stage} {type(error).__name__}: {' '.join(str(error).split())}"
    return "accepted"


def explained(model: Any, form: str) -> None:
    """Ask for the largest weights and the parts of a margin; those that have none refuse it by ValueError."""
    asked = records(form, "asked")
    task = asked.task[0] if asked.task is not None else None
    one = asked.X[0] if isinstance(asked.X, list) else asked.X[:1]
    for name, arguments in (("largest_weights", ()), ("largest_weights", (task,)), ("explain", (one, task))):
        with contextlib.suppress(ValueError):
            getattr(model, name, lambda *arguments: None)(*arguments)


def forgotten(model: Any, form: str) -> None:
    """Forget the first task and the last one, where tasks can be forgotten, and go on."""
    for place in (0, -1):
        try:
            model.forget_task(model.tasks_[place])
        except (ValueError, AttributeError, IndexError):  # of a model that cannot forget, or has no task left
            return
        predictions(model, form)
        taught(model, form)


def work() -> None:
    """Answer to one line per file, its name and the seed of what is altered in it, with how it ended; see :func:`run`."""
    resource.setrlimit(resource.RLIMIT_AS, (2**36, resource.getrlimit(resource.RLIMIT_AS)[1]))  # or it may take all
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "altered.coterie"
        for line in sys.stdin:
            name, seed = line.split()
            source = as_file(name)
            rng = random.Random(f"{name} {seed}")  # noqa: S311 - not for cryptography
            path.write_bytes(altered(*source, rng) if seed != "0" else pack(source[1], source[0]))
            try:
                ended = used(path, form_of(name), name not in SELDOM or int(seed) > FEW // len(QUICK))
            except Exception as error:
                last = traceback.extract_tb(error.__traceback__)[-1]
                place = f"{last.filename}:{last.lineno}"
                ended = f"FAILED {type(error).__name__}: {' '.join(str(error).split())[:200]} at {place}"
            print(ended.replace(str(path), "FILE"), flush=True)


class Ended(NamedTuple):
    """How a file ended."""

    name: str
    seed: int
    how: str
    seconds: float


class Worker:
    """A process that uses files one after the other, made anew when it has crashed or does not answer."""

    def __init__(self) -> None:
        self.process: Any = None

    def use(self, name: str, seed: int, seconds: float) -> str:
        """How a file ended: as the process says, or as it does."""
        if self.process is None:
            self.process = fork(work, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.process.stdin.write(f"{name} {seed}\n")
        self.process.stdin.flush()
        if not select.select([self.process.stdout], [], [], seconds)[0]:
            self.stop()
            return f"{LATE} {seconds:g} s"
        if answer := self.process.stdout.readline().strip():
            return answer
        code = self.process.wait()
        self.stop()
        return f"FAILED the process ended with {code}"

    def stop(self) -> None:
        """End the process."""
        if self.process is not None:
            self.process.kill()
            with contextlib.suppress(BrokenPipeError), self.process:
                self.process = None


def run(names: Sequence[str], files: int, seconds: float = SECONDS) -> Iterator[Ended]:
    """Alter and use this many files of these names, one of each in turn; a file's seed counts from 1."""
    worker = Worker()
    try:
        for name in names:
            whole = worker.use(name, 0, SECONDS_AT_FIRST)
            assert whole == "accepted", f"{name} as it is: {whole}"
        for n in range(files):
            name, seed, began = names[n % len(names)], 1 + n // len(names), time.monotonic()
            how = worker.use(name, seed, seconds)
            if how.startswith(LATE):  # other parameters may be the first use of a combination of kinds
                how = worker.use(name, seed, SECONDS_AT_FIRST)
            yield Ended(name, seed, how, time.monotonic() - began)
    finally:
        worker.stop()


# -- tests -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("files", [FEW, slow(MANY)])
def test_an_altered_file_is_refused_or_safe_to_use(files: int) -> None:
    ended = list(run(sorted(QUICK), files))
    failed = [outcome for outcome in ended if outcome.how.startswith("FAILED")]
    assert not failed, "\n".join(map(str, failed))
    kinds = Counter(outcome.how.split()[0] for outcome in ended)
    assert len(ended) == files
    assert min(kinds["accepted"], kinds["refused"]) > files / 20, kinds


# -- each refusal ------------------------------------------------------------------------------------------------------


def rewritten(path: Path, name: str, change: Callable[[dict[str, Any], Any], Any]) -> Path:
    """A file of a kind of model in which a function has changed the arrays and the document, with a checksum that fits."""
    metadata, source_arrays = as_file(name)
    metadata = dict(metadata)
    tensors = {name: array.copy() for name, array in source_arrays.items()}
    document = spec.from_json(msgspec.json.decode(tensors["document"].tobytes()))
    change(tensors, document)
    if "parameter" in tensors:
        described = msgspec.json.decode(metadata["spec"])
        parameters = spec.from_json(described["parameters"]) | dict([tensors.pop("parameter")])
        metadata["spec"] = msgspec.json.encode(described | {"parameters": spec.to_json(parameters)}).decode()
    tensors["document"] = np.frombuffer(msgspec.json.encode(spec.to_json(document, deepest=1000)), np.uint8)
    metadata["checksum"] = persistence._checksum(metadata, tensors)
    path.write_bytes(pack(tensors, metadata))
    return path


def number(name: str, place: Any, value: Any) -> Callable[[dict[str, Any], Any], Any]:
    """Put a number into an array."""
    return lambda tensors, document: tensors[name].__setitem__(place, value)


def array(name: str, change: Callable[[Any], Any]) -> Callable[[dict[str, Any], Any], Any]:
    """Replace an array by one that is made of it."""
    return lambda tensors, document: tensors.__setitem__(name, np.ascontiguousarray(change(tensors[name])))


def set_document(value: Any, *keys: Any) -> Callable[[dict[str, Any], Any], Any]:
    """Put a value into the document."""

    def change(tensors: dict[str, Any], document: Any) -> None:
        for key in keys[:-1]:
            document = document[key]
        document[keys[-1]] = value

    return change


def parameter(name: str, value: Any) -> Callable[[dict[str, Any], Any], Any]:
    """Give the estimator a parameter."""
    return lambda tensors, document: tensors.__setitem__("parameter", (name, value))


def nested(depth: int) -> Any:
    return (nested(depth - 1),) if depth else ()


def in_parts(at: Any, values: Any, shape: Any) -> Callable[[dict[str, Any], Any], Any]:
    """Say of the weights of groups where those are that are not zero, and what shape they have."""

    def change(tensors: dict[str, Any], document: Any) -> None:
        del tensors["groups.values"]
        parts = {"at": np.array(at, np.uint8), "values": np.array(values, float), "shape": np.array(shape)}
        tensors |= {f"groups.values|{part}": array for part, array in parts.items()}

    return change


def without_names(tensors: dict[str, Any], document: Any) -> None:
    document["view"]["names"], tensors["preparation.moments"] = [], tensors["preparation.moments"][:0]
    tensors["preparation.columns"] = tensors["preparation.columns"][:0]


MOSTLY_ZERO, NAMES = "perceptron-mostly-zero", "sharing-of-dictionaries"
ADAPTIVE, PARALLEL = "regressor-adaptive", "views-in-parallel"
#: In a file of a kind of model, what is altered, and what is said of it.
REFUSED = [
    # the document
    ("perceptron-dense", set_document(["fr/b", "fr/b", "fr/a"], "tasks"), "a task occurs twice"),
    ("perceptron-dense", set_document(["fr/b", "it/c"], "tasks"), "members are not those of paths"),
    ("perceptron-dense", set_document(["fr/b", None, "fr/a"], "tasks"), "None is not a valid label"),
    ("ridge", set_document(["fr/b", ct.Pooled(), "fr/a"], "tasks"), "is not a valid label"),
    ("SVC", set_document(np.array(["no", None], object), "labels"), "None is not a valid label"),
    ("perceptron-dense", parameter("new_task", 5), "new_task=5 is not a parameter of MultitaskPerceptron"),
    ("perceptron-dense", parameter("task_column", [5]), "is not a parameter of MultitaskPerceptron"),
    ("perceptron-dense", set_document(2**40, "state", "features"), "Expected `int` <= 1073741824"),
    ("perceptron-dense", set_document(-1, "state", "rounds"), "Expected `int` >= 0"),
    ("perceptron-dense", set_document(4, "kept", "n_features_in_"), "records of 4 features do not fit"),
    ("perceptron-dense", set_document({}, "kept"), "the data have no input encoder"),
    ("perceptron-dense", set_document({"names": ["a"] * 2}, "view"), "a feature name occurs twice"),
    ("perceptron-dense", set_document({"no": -1.0, "yes": -1.0}, "labels"), "not two of different signs"),
    ("perceptron-dense", set_document("Quantum", "state", "shape", "kind"), "is a Quantum, but the parameters require"),
    ("perceptron-dense", set_document("Spread", "state", "shape", "kind"), "the parameters require a Grouped"),
    ("perceptron-dense", set_document(4, "state", "shape", "fields", "tasks", "fields", "stride"), "are not in pieces"),
    ("perceptron-dense", set_document(nested(100), "kept"), "JSON data are nested more than 100 deep"),
    ("perceptron-frames", set_document(np.array(["a"] * 4, object), "kept", "feature_names_in_"), "not one name per"),
    ("classes", set_document({"low": 0, "high": 2, "middle": 1}, "labels"), "3 labels do not match 3 two-class models"),
    ("read-file", number("encoder.moments", (0, 0), np.nan), "moments are not finite"),
    ("read-file", number("encoder.moments", (0, 0), 0.0), "squares, or a zero weight with other sums"),
    ("sharing-default", set_document([], "state", "members"), "the file has 0 members, but the parameters have"),
    ("sharing-default", array("members.4.squares", lambda values: values[:1]), "the tasks' own prior does not"),
    ("sharing-default", number("members.4.squares", 0, -1.0), "the tasks' own prior"),
    ("sharing-default", number("members.4.ridges", -1, 0.0), "the tasks' own prior"),
    ("views", set_document([3, 3, 2], "state", "widths"), "views of one space have the widths"),
    # arrays
    ("perceptron-dense", lambda tensors, document: tensors.pop("tasks.values"), "array 'tasks.values' is missing"),
    ("perceptron-dense", array("tasks.values", lambda values: values.astype("i8")), "'tasks.values' has type int64"),
    ("perceptron-dense", in_parts([], [], [2**40, 2**20]), "does not fit in the memory of this machine"),
    ("perceptron-dense", in_parts([9], [1.0], [5]), "has entries outside its shape"),
    (MOSTLY_ZERO, array("model.tasks.values|shape", lambda values: values // 2), "has entries outside|shifts by"),
    # groups
    ("perceptron-dense", number("levels.paths", (1, 0), 3), "the saved groups of the tasks differ from those of"),
    ("perceptron-dense", number("levels.members", 0, 2), "members are not those of paths"),
    ("perceptron-dense", number("levels.weight", 0, np.nan), "'levels.weight' has numbers that are not finite"),
    ("perceptron-dense", number("tasks.values", 3, -np.inf), "'tasks.values' has .* or beyond 1e.150"),
    ("kernel-projection", number("support.births", 0, 2**53 + 1), "has .* or beyond 9.0072e.15"),
    ("asking-margin", number("questions.clock", 0, 2**60), "'clock' has .* or beyond 9.0072e.15"),
    ("perceptron-dense", set_document(2**53 + 1, "state", "rounds"), "Expected `int` <= 9007199254740992"),
    (NAMES, without_names, "the first feature is not the constant"),
    # names that dictionaries leave out
    (NAMES, array("preparation.columns", lambda values: values[:-1]), "columns is not an array of int64 of shape"),
    (NAMES, number("preparation.columns", (1, 0), -1), "more records than were learned"),
    (NAMES, number("preparation.columns", (1, 1), 2**40), "second columns lie beyond the last column"),
    (NAMES, number("preparation.columns", (1, 1), 1), "second columns are not distinct"),
    (NAMES, set_document(0, "preparation", "records"), "more records than were learned"),
    # sparse tables
    ("perceptron-sparse-average", number("model.tasks.start", 0, 8_000_000), "lies outside its arena"),
    ("perceptron-sparse-average", number("model.tasks.size", 0, 12), "lies outside its arena"),
    ("perceptron-sparse-average", number("model.tasks.start", 0, 12), "two rows of a sparse table overlap"),
    ("perceptron-sparse-average", number("model.tasks.count", 0, 4), "cannot be found at its place"),
    ("perceptron-sparse-average", number("model.tasks.features", 0, 7), "bucket 0, which no row owns, is not empty"),
    ("perceptron-sparse-average", number("clock", 0, -1.0), "the clock of averages holds numbers outside"),
    # what fades, and is learned
    ("perceptron-half-life", number("model.tasks.scale", 0, 0.0), "scale is 0.0"),
    ("perceptron-log-det", number("relation.inverse", (0, 0), np.inf), "inverse' has numbers that are not finite"),
    ("perceptron-log-det", array("relation.inverse", lambda values: values[:2]), "inverse has shape"),
    ("perceptron-log-det", number("relation.status", 0, 3), "status holds numbers outside 0 to 2"),
    ("sharing-default", number("losses.overall", 0, -1.0), "losses holds numbers outside"),
    # support vectors
    ("kernel-projection", number("support.counts", 0, 6), "6 support vectors do not fit into 5 slots"),
    ("kernel-projection", number("support.tasks", 0, 9), "tasks of support vectors holds numbers outside 0 to 2"),
    ("kernel-projection", number("support.groups", (0, 0), 1), "in other groups than their tasks"),
    ("kernel-projection", array("memory.inverse", lambda values: values[:4]), "inverse has shape"),
    ("kernel-sparse", number("store.starts", 1, 2**40), "the entries of records are not one"),
    ("kernel-normalised-Forgetron", number("memory.sums", 2, 0.0), "the factor of all coefficients is 0.0"),
    ("second-order-primal", array("W", lambda values: values[1:]), "W has shape"),
    ("second-order-primal", number("sharing.own", 1, 1e101), "tasks' own weights in M holds numbers outside 0"),
    ("second-order-Gaussian", number("tasks", 0, -1), "tasks of support vectors holds numbers outside"),
    ("spaces-independent-dictionaries", number("owner", 0, 2), "belongs to another task than its name says"),
    # views
    ("orthogonal-inner-sparse", number("store.offsets", 1, 9), "the weights of a view lie in another's|outside 0 to"),
    ("views-dual", number("supports.births", 0, -1), "births holds numbers outside"),
    ("orthogonal-kernels-dictionaries", set_document(["f0", "f0", "f1", "f2"], "view", "words", 2), "occurs twice"),
    (PARALLEL, lambda tensors, document: document["state"]["members"].pop(), "there are 2 learners for 3 views"),
    (PARALLEL, set_document(21, "state", "rounds"), "views have different forms or numbers of rounds"),
    (PARALLEL, set_document(False, "state", "dense"), "views have different forms"),
    # questions
    slow("asking-budget-window", number("questions.held", 0, 9), "labels asked for of tasks are not those"),
    ("asking-open-question", set_document(["x"], "open"), "Expected `array` of length 2"),
    # mixed effects in an ensemble, and numbers
    (ADAPTIVE, array("members.4.triangle", lambda it: it[:1]), "the covariances of the shared weights do not fit"),
    (ADAPTIVE, number("members.4.triangle", 0, -1.0), "variances of the shared weights holds numbers outside"),
    (ADAPTIVE, number("members.4.mean", 0, np.inf), "mean of the shared weights holds numbers outside"),
    (ADAPTIVE, number("members.4.precisions", (0, 0), -1.0), "the tasks' own precisions holds numbers outside"),
    (ADAPTIVE, number("members.4.clock", 0, 99), "number of features seen holds numbers outside 1 to 7"),
    (ADAPTIVE, number("members.4.columns", 1, 1), "a column of features seen occurs twice"),
    (ADAPTIVE, array("members.4.columns", lambda it: np.append(it, it[:1])), "the tasks' own prior does not fit"),
    (ADAPTIVE, number("members.4.ridges", 2, 0.0), "the tasks' own prior holds numbers outside"),
    (ADAPTIVE, number("model.last.mean", 0, np.inf), "mean of the last step holds numbers outside"),
    (ADAPTIVE, array("model.labels", lambda labels: labels[:1]), "numbers of labels has room for 1, and there are 3"),
    (ADAPTIVE, array("model.spread.tasks", lambda it: it[:1]), "residuals of tasks has room for 1, and there are 3"),
    (ADAPTIVE, number("model.extremes", 0, 1e9), "the range of labels is invalid"),
    (ADAPTIVE, set_document("Columns", "state", "shape", "kind"), "but the parameters require a Stacking"),
    # models of a batch
    ("ridge", number("codes", 0, 4), "codes holds numbers outside 0 to"),
    ("ridge", lambda tensors, document: document["kept"].pop("center_"), "'center_'. is missing"),
    ("ridge-center-sparse", number("rows.features", 0, 5), "features holds numbers outside 0 to 4"),
    ("SVC", set_document(np.zeros(3), "kept", "intercept_"), "intercept_ has 3 numbers for 1 outputs"),
]


@pytest.mark.parametrize(("name", "change", "message"), REFUSED, ids=lambda it: None if callable(it) else it[:40])
def test_what_no_model_can_be_is_refused(name: str, change: Any, message: str, tmp_path: Path) -> None:
    path = rewritten(tmp_path / "model.coterie", name, change)
    with pytest.raises(ValueError, match=message) as raised:
        ct.load(path)
    text = str(raised.value)
    assert text.startswith(f"{path} is not a model that this version can read: ")
    assert "\n" not in text
    assert "Error," not in text, "what is wrong is said, not stumbled over"


def test_a_model_that_has_overflowed_is_not_saved(tmp_path: Path) -> None:
    """What no file would give back is not written, so that all that is saved can be loaded; the old file stays."""
    path = tmp_path / "model.coterie"
    for name, place in (("perceptron-dense", 9), ("perceptron-sparse", 3)):
        model = learned(name)
        model.save(path)
        before = path.read_bytes()
        model.state_.model.tasks.values[place] = np.inf
        with pytest.raises(ValueError, match=r"array 'tasks.(values|features)' has numbers that are not finite"):
            model.save(path)
        assert path.read_bytes() == before


def test_a_file_says_what_its_own_table_takes_and_no_more(tmp_path: Path) -> None:
    """Room for a table is given by what is in it, and what is no row's is counted, whatever the file says."""
    # a sparse table whose rows have left blocks behind, as it was saved before files held what is used only
    rng, path = np.random.default_rng(0), tmp_path / "model.coterie"
    X = sp.random_array((60, 300), density=0.05, format="csr", random_state=rng)
    model = ct.MultitaskPerceptron(storage="sparse")
    model.fit(X, np.sign(rng.standard_normal(60)), rng.integers(3, size=60)).save(path)
    table = model.state_.model.tasks
    arena = {name: getattr(table, name).copy() for name in ("start", "size", "count", "used", "free")}
    arena["features"] = table._taken().copy()
    with_arrays(path, {f"tasks.{name}": array for name, array in arena.items()})
    ct.load(path)
    saved = persistence._read(path)[1]
    text = re.sub(rb'"room",[0-9]+', b'"room",%d' % 2**50, saved["document"].tobytes())
    with_arrays(path, {"document": np.frombuffer(text, np.uint8), "tasks.used": np.array([2**40, -(2**40)])})
    table = ct.load(path).state_.model.tasks
    assert table.used.tolist() == saved["tasks.used"].tolist()
    assert table.room <= 64 * max(table.used[0], 512)


def test_loading_takes_time_by_the_size_of_the_file(tmp_path: Path) -> None:
    """Models of many classes, the names of whose arrays were looked through anew for each class."""

    def calls(classes: int) -> int:
        model = ct.OneVsRest(ct.MultitaskPerceptron())
        model.fit(np.ones((3 * classes, 1)), [f"class {c}" for c in range(classes)] * 3)
        model.save(tmp_path / "model.coterie")
        ends: Counter[str] = Counter()
        sys.setprofile(lambda frame, event, argument: ends.update([event]))
        try:
            ct.load(tmp_path / "model.coterie")
        finally:
            sys.setprofile(None)
        return ends["call"] + ends["c_call"]

    calls(2)
    few, many = calls(25), calls(200)
    assert many < 9 * few, f"8 times as many classes took {many / few:.1f} times as many calls"


def test_a_shape_has_room_in_the_container_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = rewritten(tmp_path / "model.coterie", MOSTLY_ZERO, lambda tensors, document: None)
    limits = [tmp_path / name for name in ("none", "max", "limit")]
    limits[1].write_text("max\n")
    monkeypatch.setattr(persistence, "LIMITS", limits)
    ct.load(path)
    limits[2].write_text("1000\n")
    with pytest.raises(ValueError, match="does not fit in the memory of this machine"):
        ct.load(path)


# -- the longest run ---------------------------------------------------------------------------------------------------


if __name__ == "__main__":
    chosen = [name for name in sys.argv[2:] if name in MODELS] or sorted(MODELS)
    counts: Counter[str] = Counter()
    longest = 0.0
    for outcome in run(chosen, int(sys.argv[1])):
        counts[outcome.how.split()[0]] += 1
        longest = max(longest, outcome.seconds)
        if outcome.how.startswith("FAILED"):
            print(outcome, flush=True)
    print(f"{sum(counts.values())} files of {len(chosen)} models: {dict(counts)}, the longest took {longest:.1f} s")
