"""Commands run as on a terminal, and small files for them to read."""

import contextlib
import faulthandler
import gc
import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from functools import cache
from pathlib import Path

import numpy as np
from typer import testing

from coterie.cli import main
from coterie.cli.program import app

#: Whose record it is, and its label, among the columns of `rows`; what learns soonest.
WHO = ("--task", "user", "--label", "click")
QUICK = ("--alone", "--bits", "8", "--learner", "MultitaskLogistic()")
PROGRAM = (sys.executable, "-c", "from coterie.cli import main; main()")

testing._get_command = cache(testing._get_command)  # the commands are made once, and not for each run


def run(*arguments, code=0, stdin=None):
    """The result of a command that is to end with this exit code."""
    result = testing.CliRunner().invoke(app, [*map(str, arguments)], prog_name="coterie", input=stdin)
    assert result.exit_code == code, (result.exit_code, result.output, result.exception)
    return result


def run_json(*arguments, **options):
    """What a command prints with --json."""
    return json.loads(run(*arguments, "--json", **options).stdout)


def refused(*arguments, code=2, **options):
    """The one line with which a command is refused."""
    result = run(*arguments, code=code, **options)
    lines = result.stderr.splitlines()
    assert lines, result.output
    assert lines[-1].startswith("coterie: error: ")
    assert "Traceback" not in result.output
    return lines[-1].removeprefix("coterie: error: ")


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self):
        return True


def open_files(process):
    """What a process has open, by its descriptors."""
    files = {}
    for path in Path(f"/proc/{process}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # that of the folder itself
            files[int(path.name)] = os.readlink(path)  # noqa: PTH115 - it is no path
    return files


def fork(function, *arguments, preexec_fn=None, **options):
    """Start a process that calls a function: a copy of this one, which has imported and loaded what takes long."""

    def call():
        shared = set(open_files(os.getppid()).values())  # one is the pipe by which Popen waits for a program to begin
        for descriptor, file in open_files("self").items():
            if descriptor > 2 and file in shared:
                os.close(descriptor)
        gc.freeze()
        code = 1
        try:
            for number in (signal.SIGPIPE, signal.SIGXFSZ):  # as Python begins
                signal.signal(number, signal.SIG_IGN)
            if preexec_fn is not None:
                preexec_fn()
            sys.stdin, sys.stdout = open(0), open(1, "w")  # noqa: SIM115
            sys.stderr = open(2, "w", errors="backslashreplace", buffering=1)  # noqa: SIM115
            faulthandler.enable(sys.stderr)
            try:
                function(*arguments)
                code = 0
            except SystemExit as end:
                code = end.code or 0
            for thread in set(threading.enumerate()) - {threading.current_thread()}:
                thread.daemon or thread.join()
            sys.stdout.flush()
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)

    return subprocess.Popen([sys.executable], preexec_fn=call, **options)


def start(*arguments, before="", **options):
    """Start a command, after some code, in a process of its own."""

    def command():
        sys.argv = ["coterie", *map(str, arguments)]
        exec(before, {})  # noqa: S102
        main()

    return fork(command, **options)


def start_program(*arguments, **options):
    """Start a command as a program of its own, whose streams are buffered as they usually are."""
    unusual = ("COTERIE_DEBUG", "PYTHONUNBUFFERED")
    plain = {name: value for name, value in os.environ.items() if name not in unusual} | {"PYTHONIOENCODING": "ascii"}
    return subprocess.Popen([*PROGRAM, *map(str, arguments)], env=plain, **options)


def wait_until(condition, seconds=300):
    """Wait until something is so."""
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


def heed():
    """Let a process that is started be stopped by signals, though what starts the tests may ignore them."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def rows(n=300, n_tasks=5, seed=0):
    """Records of users who agree in the main."""
    rng = np.random.default_rng(seed)
    for i in range(n):
        user = int(rng.integers(n_tasks))
        price, age = rng.normal(size=2)
        shop = ("north", "south", "west")[rng.integers(3)]
        liked = price + 0.3 * (user % 2) * age + 0.5 * (shop == "north") + 0.3 * rng.normal() > 0
        title = " ".join(rng.choice(["red", "blue", "old", "new"], 3))
        numbers = {"price": round(float(price), 4), "age": round(float(age), 4)}
        yield {"id": i, "user": f"u{user}", **numbers, "shop": shop, "title": title, "click": "yes" if liked else "no"}


NUMBERS = ("user", "price", "age", "click")


def write_csv(path, records, names=NUMBERS):
    """Some columns of records as CSV."""
    lines = [",".join(names), *(",".join(str(record[name]) for name in names) for record in records)]
    path.write_text("\n".join(lines) + "\n")
    return path


def write_jsonl(path, records, **changed):
    """Records as JSON Lines, some values changed by functions."""
    changed_records = [record | {name: change(record[name]) for name, change in changed.items()} for record in records]
    path.write_text("".join(json.dumps(record) + "\n" for record in changed_records))
    return path


def write_rows(folder, records):
    """Records of users in every format, by their ending: the path, and what else is to be said of it."""
    import pyarrow.parquet

    columns = [{name: record[name] for name in NUMBERS} for record in records]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(columns), folder / "s.parquet")
    write_jsonl(folder / "s.jsonl", columns)
    write_csv(folder / "s.csv", records)
    signs = {"yes": "1", "no": "-1"}
    svm = [f"{signs[r['click']]} qid:{r['user'][1:]} 1:{r['price']} 2:{r['age']}\n" for r in records]
    vw = [f"{signs[r['click']]} |user {r['user']} |x price:{r['price']} age:{r['age']}\n" for r in records]
    (folder / "s.svm").write_text("".join(svm))
    (folder / "s.vw").write_text("".join(vw))
    roles = {"label": "click", "task": "user"}
    options = {"jsonl": roles, "csv": roles, "parquet": roles, "svm": {}, "vw": {"task": "user"}}
    return {kind: (folder / f"s.{kind}", extra) for kind, extra in options.items()}
