"""Does every kind of model still compute the same bits as at another commit? `python tools/same_bits.py COMMIT`.

Models of every kind are read from `tests/saved` and learn more: at once, with late labels, and record by record. Two
digests of each, of what it says (margins, probabilities, updates, questions) and of the file that it saves, are
compared with those of the sources at COMMIT on this machine: bits of sums differ between processors, so digests are not
kept in the repository. Try so what is meant to change nothing, before it is committed. Names after COMMIT limit the
models. `--save FILE [COMMIT [NAMES]]` writes the digests of a commit, or of this checkout, to a file, which stands for
COMMIT later, so that the old sources are compiled once.
"""

from __future__ import annotations

import copy
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))


def digests(names: list[str]) -> dict[str, str]:
    """The digest of each model in each way of learning, or the error that it ended with."""
    import coterie as ct
    from test_saved import EXPECTED, FOLDER

    found = {}
    for name in names or sorted(EXPECTED):
        model, form = ct.load(FOLDER / f"{name}.coterie"), EXPECTED[name]["form"]
        for way, learn in WAYS.items() if hasattr(model, "learn_one") else ():
            again = copy.deepcopy(model)
            try:
                found[f"{name}, {way}"] = _digest(*learn(again, form))
            except Exception as error:
                found[f"{name}, {way}"] = f"{type(error).__name__}: {error}"
            found[f"{name}, {way}, saved"] = _digest(_saved(again))
    return found


def _streamed(model, form, delay=0):
    import coterie as ct
    from test_saved import records

    more = records(form, "more")
    trace = ct.progressive_validation(model, more.X, more.y, **more.given, delay=delay)
    parts = [trace.margin, trace.updated, trace.queried, trace.stored, trace.evicted, trace.probability]
    return [b"" if part is None else part.tobytes() for part in parts]


def _one_by_one(model, form):
    from test_saved import records

    more, said = records(form, "more"), []
    for t in range(len(more.y)):
        x, task = _at(more.X, t), {} if more.task is None else {"task": more.task[t : t + 1]}
        said.append(model.predict(x, **task) if model.__sklearn_is_fitted__() else None)
        if isinstance(more.X, list) and isinstance(more.X[0], dict):
            one = {name: values[0] for name, values in task.items()}
            if not hasattr(model, "wants_label") or model.wants_label(x[0], **one):
                model.learn_one(x[0], more.y[t], **one)
        else:
            model.partial_fit(x, more.y[t : t + 1], **task)
    return [repr(said).encode()]


def _at(X, t):
    """Record t alone, in the form that all of them have."""
    from coterie.inputs.view_input import PartialBlock

    if isinstance(X, PartialBlock):
        return PartialBlock(_at(X.block, t), X.present[t : t + 1])
    if isinstance(X, list) and not isinstance(X[0], dict):
        return [_at(view, t) for view in X]
    return X[t : t + 1]


WAYS = {
    "at once": _streamed,
    "late": lambda model, form: _streamed(model, form, delay=5),
    "one by one": _one_by_one,
}


def _saved(model):
    """What a file of the model holds, in the order of names: that of parameters is no matter."""
    from coterie import persistence

    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model.coterie")
        metadata, arrays = persistence._read(Path(folder) / "model.coterie")
    described = json.loads(arrays.pop("spec").tobytes() if "spec" in arrays else metadata["spec"])
    described["parameters"]["$dict"].sort()
    parts = [part for name in sorted(arrays) for part in (name.encode(), arrays[name].tobytes())]
    return b"".join([json.dumps(described, sort_keys=True).encode(), *parts])


def _digest(*parts):
    whole = hashlib.sha256()
    for part in parts:
        whole.update(len(part).to_bytes(8, "big") + part)
    return whole.hexdigest()


@contextmanager
def checked_out(place):
    """A folder: this one, or one with the files of a commit for as long as it is used."""
    if Path(place).is_dir():
        yield Path(place)
        return
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["git", "worktree", "add", "-q", "--detach", folder, place], cwd=ROOT, check=True)
        try:
            yield Path(folder)
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", folder], cwd=ROOT, check=True)


def _of(place, names):
    """The digests of a file, or by the sources of a commit or folder, computed with the tests of this checkout."""
    if Path(place).is_file():
        return json.loads(Path(place).read_text(encoding="utf-8"))
    with checked_out(place) as folder:
        env = os.environ | {"PYTHONPATH": str(folder / "src"), "PYTHONHASHSEED": "0"}
        return json.loads(subprocess.check_output([sys.executable, __file__, "--digests", *names], env=env))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--digests"]:
        print(json.dumps(digests(sys.argv[2:])))
        sys.exit()
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    if sys.argv[1] == "--save":
        place, *names = sys.argv[3:] or [ROOT]
        Path(sys.argv[2]).write_text(json.dumps(_of(place, names)), encoding="utf-8")
        sys.exit()
    place, *names = sys.argv[1:]
    before, now = _of(place, names), _of(ROOT, names)
    other = [name for name in now if now[name] != before.get(name)]
    for name in other:
        print(f"{name}: {before.get(name, 'not there')[:60]} -> {now[name][:60]}")
    print(f"{len(now) - len(other)} of {len(now)} the same as at {place}")
    sys.exit(bool(other))
