"""What operators of a service rely on: what it refuses, what it tells, and what `docs/service.md` has them do."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
import time
from itertools import accumulate, repeat
from pathlib import Path
from unittest.mock import Mock

import httpx2 as httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coterie as ct
from coterie.server import service as services
from coterie.server.app import make_app
from coterie.server.engine import Engine
from coterie.server.events import Record
from coterie.server.service import Service
from slow import slow
from states import digest
from terminal import refused, wait_until
from test_serve import TestClient, make, post, start, wait_until_ready


@pytest.fixture
def client(tmp_path):
    with Service(tmp_path, lambda: Engine(ct.AdaptiveSharingClassifier())) as service:
        yield TestClient(make_app(service))


# -- what can be taken can be given back -------------------------------------------------------------------------------


@pytest.mark.parametrize("deep", [2, 100, 500])
def test_values_that_no_snapshot_could_hold_are_refused(client, deep):
    nested = accumulate(repeat("a", deep + 1), lambda value, _: [value])  # in no list, in one, in two, ...
    _, good, *_, bad = ({"task": "ann", "x": {"f": value}} for value in nested)
    for path, label in (("/predict", {}), ("/observe", {"y": True})):
        answer = post(client, path, good | label, bad | label)
        message = "Expected `bool | int | float | str | null`, got `array` - at `$.records[1].x[...][0]`"
        assert (answer.status_code, answer.json()["error"].partition(";")[0]) == (422, message)
    assert client.get("/tasks").json()["known"] == 0


_SCALARS = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text()
_SCALARS |= st.floats(allow_nan=False, allow_infinity=False)  # JSON has no infinity, and the client refuses to send it
_VALUES = st.recursive(
    _SCALARS,
    lambda children: st.lists(children, max_size=3) | st.dictionaries(st.text(), children, max_size=3),
    max_leaves=20,
)
_RECORDS = st.dictionaries(st.text(max_size=9), _VALUES, max_size=3)
_LABELS = st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text()


@settings(max_examples=15)
@given(records=st.lists(st.tuples(_RECORDS, _LABELS, _LABELS), max_size=3))
def test_a_snapshot_gives_back_whatever_was_taken(records, tmp_path_factory):
    folder = tmp_path_factory.mktemp("service")
    with Service(folder, make) as service:
        client = TestClient(make_app(service))
        for k, (x, y, task) in enumerate([({"f": 1.0}, True, "ann"), *records]):
            post(client, "/predict", {"id": f"e{k}", "task": task, "x": x})
            post(client, "/observe", {"task": task, "x": x, "y": y})
        assert client.post("/snapshot").status_code == 200
        before = digest(service.engine)
    with Service(folder, make) as service:
        assert service.replayed == 0
        assert digest(service.engine) == before


@pytest.mark.parametrize("error", [OSError("the disk is full"), ValueError("the data are too deep"), MemoryError()])
def test_a_snapshot_that_fails_raises_the_alarm_whatever_its_error(tmp_path, monkeypatch, error):
    with Service(tmp_path, make) as service:
        client = TestClient(make_app(service))
        service.observe([Record(task="ann", x={"f": 1.0}, y=True)])
        with monkeypatch.context() as broken:
            broken.setattr(services.persistence, "save", Mock(side_effect=error))
            answer = client.post("/snapshot")
            message = str(error) or "MemoryError"
            assert (answer.status_code, answer.json()["error"].split(": ")[-1]) == (503, message)
            assert client.get("/state").json()["alarms"]["snapshot"].endswith(message)
            assert 'coterie_alarm{alarm="snapshot"} 1.0' in client.get("/metrics").text
        assert client.post("/snapshot").status_code == 200
        assert client.get("/state").json()["alarms"] == {}


# -- refusals in the words of who sent the request ---------------------------------------------------------------------

GOOD = {"task": "ann", "x": {"price": 2.0}, "y": "yes"}


@pytest.fixture
def learned(client):
    """A service that has learned two labels, and an id."""
    assert post(client, "/observe", GOOD | {"id": "e"}, GOOD | {"y": "no"}).status_code == 200
    return client


THIRD = 'a third label after "no" and "yes": a service of --many-classes learns more labels, one of --regression'
DEAR = "feature 'price' was a number so far, but is 'dear' now"
KNOWN, GONE = {"id": "e", "y": "yes"}, {"id": "gone", "y": "no"}


@pytest.mark.parametrize(
    ("verb", "records", "message"),
    [
        ("observe", [GOOD | {"y": "maybe"}], f'records[0].y is "maybe", {THIRD}'),
        ("observe", [GOOD, GOOD | {"y": "maybe"}], f'records[1].y is "maybe", {THIRD}'),
        ("observe", [KNOWN, GONE, GOOD | {"y": True}], f"records[2].y is true, {THIRD}"),
        ("observe", [GOOD | {"x": {"price": "dear"}}], f"records[0].x: {DEAR}"),
        ("observe", [KNOWN, GOOD, GOOD | {"x": {"price": "dear"}}], f"records[2].x: {DEAR}"),
        *(
            ("predict", [*[{"task": "ann", "x": {"price": 2.0}}] * n, {"task": "ann", "x": {"price": 1e300}}], message)
            for n in (1, 5, 40)
            for message in [f"records[{n}].x: feature 'price': 1e+300 is beyond the limit of 1e+100"]
        ),
    ],
)
def test_the_record_that_is_refused_is_named_by_its_number_in_the_request(learned, verb, records, message):
    answer = post(learned, f"/{verb}", *records)
    assert (answer.status_code, answer.json()["error"][: len(message)]) == (422, message)


def test_other_labels_than_those_declared_are_refused(tmp_path):
    with Service(tmp_path, make) as service:
        service.declare(["yes", "no"])
        client = TestClient(make_app(service))
        answer = post(client, "/observe", GOOD, GOOD | {"y": "yse"})
        message = 'records[1].y is "yse"; the declared labels are "yes" and "no"'
        assert (answer.status_code, answer.json()) == (422, {"error": message})
        assert service.journal.end == 0
        assert post(client, "/observe", GOOD).json()["learned"] == 1
        for labels, wrong in (
            (["no", "maybe"], 'the model has learned the label "yes"; it must be declared'),
            (["yes", "yes"], "expected two or more different labels"),
            (["yes", "no", "maybe"], "the model learns two labels; 3 were declared"),
        ):
            with pytest.raises(ValueError, match=wrong):
                service.declare(labels)


def test_a_prediction_leaves_out_text_in_place_of_a_number(learned):
    text, nothing = ({"id": "f", "task": "ann", "x": x} for x in ({"price": "dear"}, {}))
    predictions, without = (post(learned, "/predict", body).json()["predictions"] for body in (text, nothing))
    assert predictions == without
    assert post(learned, "/predict", text).status_code == 200
    answer = post(learned, "/observe", {"id": "f", "y": "yes"})
    assert (answer.status_code, answer.json()["error"]) == (422, f"records[0].x: {DEAR}")
    assert learned.get("/state").json()["features"]["unknown"] == {}
    assert "coterie_waiting_labels 1.0" in learned.get("/metrics").text


# -- features that are new, unknown, or have stopped coming ------------------------------------------------------------


def test_features_that_nobody_knows_and_refused_requests_are_counted(learned):
    for x in ({"prcie": 2.0}, {"price": 2.0, "prcie": 2.0}):
        assert post(learned, "/predict", {"task": "ann", "x": x}).status_code == 200
    predictions = learned.get("/state").json()["features"]
    assert predictions == {"known": 1, "unknown": {"prcie": 2}, "new": [], "stopped": []}
    for _ in range(2):
        assert post(learned, "/observe", {"id": "new"}).status_code == 422
    assert learned.get("/nothing").status_code == 404
    predictions = learned.get("/metrics").text
    assert "coterie_unknown_features_total 2.0" in predictions
    assert 'coterie_refused_total{status="422"} 2.0' in predictions
    assert 'coterie_refused_total{status="404"} 1.0' in predictions


def test_features_that_stopped_coming_are_told_after_a_restart_too(tmp_path):
    def records(n, name):
        return [Record(task="ann", x={name: 1.0, "age": 2.0}, y=bool(k % 2)) for k in range(n)]

    with Service(tmp_path, lambda: Engine(ct.MultitaskLogistic(), compared=False)) as service:
        service.observe(records(1200, "price"))
        service.observe(records(999, "prcie"))
        assert service.engine.watch_features() == {"new": ["prcie"], "stopped": []}
        service.observe(records(1, "prcie"))
        assert service.engine.watch_features()["stopped"] == ["price"]
    with Service(tmp_path, make) as service:
        client = TestClient(make_app(service))
        assert client.get("/state").json()["features"]["stopped"] == ["price"]
        predictions = client.get("/metrics").text
        assert "coterie_features_stopped 1.0" in predictions
        assert "coterie_features 3.0" in predictions


# -- when a service is ready ------------------------------------------------------------------------------------------


def test_a_service_is_ready_once_its_code_is_compiled(client, monkeypatch):
    go_on = threading.Event()
    monkeypatch.setattr(Engine, "compile", lambda engine: go_on.wait(60))
    client.app.state.app.compile()
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["error"][:23]) == (503, "code is being compiled;")
    assert client.get("/healthz").status_code == 200
    go_on.set()
    wait_until(lambda: client.get("/readyz").status_code != 503, 60)


@pytest.mark.parametrize(
    "kind", [ct.AdaptiveSharingClassifier, slow(ct.AdaptiveSharingRegressor), ct.MultitaskLogistic]
)
def test_compiling_beforehand_changes_nothing_of_the_model(kind):
    engine = Engine(kind())
    before = digest(engine)
    engine.compile()
    assert digest(engine) == before


# -- how a service begins ----------------------------------------------------------------------------------------------


REFUSED = {
    "--host 192.0.2.1": "pass --token-file",
    "--token-file empty": "must contain one word",
    "--token-file bytes": "--token-file bytes must contain one word of ASCII characters",
    "--max-body lots": "expected bytes, such as 8388608 or 8MiB",
    "--expire 12": "'12' is not a duration; expected seconds, minutes or hours",
    "--expire 7d": "'7d' is not a duration; expected seconds, minutes or hours",
    "--snapshot 0": "--snapshot is '0'; expected a number of records",
    "--alarm-silence x": "'x' is not a duration",
    "other.coterie --learner MultitaskLogistic()": "--learner is not supported with MODEL",
    "--regression --labels yes,no": "--labels: labels cannot be declared for regression",
    "--labels yes": "--labels: expected two or more different labels",
    "m.coterie --labels yes,no": '--labels: the model has learned the label "spam"',
}
TOO_LATE = {
    "--expire 1h": "--expire is 86400s since the first start of the service: leave it out, or begin a new folder",
    "--remember 9": "--remember is 1000000 since the first start of the service: leave it out",
    "--no-verdict": "--no-verdict is not supported: the service in this folder has baselines",
    "--labels 1,true": "--labels: expected two or more different labels",
}


def test_a_start_that_is_refused_begins_no_model(tmp_path, monkeypatch, served):
    """So that the command, once corrected, begins with the learner that it names."""
    monkeypatch.chdir(tmp_path)
    Path("empty").write_text("\n")
    Path("bytes").write_bytes(b"\xff\xfe")
    ct.MultitaskLogistic().partial_fit([{"f": 1.0}], ["spam"], task=["ann"]).save("m.coterie")
    serve = ("serve", "--data", "s", "--port", "0")
    for options, message in REFUSED.items():
        assert message in refused(*serve, *options.split()), options
        assert services.snapshots_in(tmp_path / "s") == []
    assert len(served(tmp_path / "s", "--labels", "yes,no")) == 1
    with Service(tmp_path / "s", make) as service:
        assert type(service.engine.model) is ct.AdaptiveSharingClassifier
    for options, message in TOO_LATE.items():
        assert message in refused(*serve, *options.split()), options


@pytest.mark.skipif(os.name != "posix", reason="the permissions are those of POSIX")
def test_the_folder_is_its_users_own(tmp_path):
    with Service(tmp_path / "s", make):
        assert (tmp_path / "s").stat().st_mode & 0o777 == 0o700


def test_a_damaged_snapshot_is_refused_with_what_to_do(tmp_path):
    with Service(tmp_path, make) as service:
        service.observe([Record(task="ann", x={"a": 1.0}, y="yes")])
        service.snapshot()
        first = service.snapshots()[-1]
        service.observe([Record(task="ann", x={"a": 2.0}, y="no")])
        state = digest(service.engine)
    last, whole = service.snapshots()[-1], first.read_bytes()
    last.write_bytes(last.read_bytes()[:100])
    with pytest.raises(ValueError, match="an older snapshot exists; move this one away and start again"):
        Service(tmp_path, make)
    last.unlink()
    with Service(tmp_path, make) as again:
        assert again.replayed > 0
        assert digest(again.engine)[1] == state[1]
    for path in service.snapshots():
        path.unlink()
    first.write_bytes(whole[:100])
    with pytest.raises(ValueError, match=r"there is no other snapshot: put back a backup$"):
        Service(tmp_path, make)


# -- what operators do -------------------------------------------------------------------------------------------------


def commands():
    """The shell commands of the section for operators, in their order; one may have lines within quotes."""
    section = Path("docs/service.md").read_text().partition("## For operators")[2].partition("\n## ")[0]
    blocks = re.findall("```bash\n(.*?)```", section, re.S)
    return [line for block in blocks for line in re.findall("(?:[^'\n]|'[^']*')+", block)]


class Operator:
    """Runs commands in a folder: a service until the next one begins, any other command to its end."""

    def __init__(self, folder):
        self.folder, self.process, self.url = folder, None, ""

    def run(self, line):
        if line.startswith("coterie serve "):
            self.stop()
            arguments = shlex.split(line)[2:]
            paths = ("/", ".coterie", ".jsonl")
            arguments = [str(self.folder / word) if word.endswith(paths) else word for word in arguments]
            self.process, self.url = start(self.folder, *arguments)  # of two --data the one of the line counts
            return ""
        line = re.sub("^coterie ", f"{sys.executable} -m coterie ", line.replace("localhost:8000", self.url))
        line = re.sub("^python ", f"{sys.executable} ", line)
        done = subprocess.run(["sh", "-ec", line], cwd=self.folder, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, (line, done.stderr)
        return done.stdout

    def send(self, verb, *records):
        return httpx.post(f"{self.url}/{verb}", json={"records": list(records)}, timeout=120)

    def stop(self):
        if self.process is not None:
            self.process.terminate()
            assert self.process.communicate(timeout=300)[1].count("Traceback") == 0
            self.process = None


@pytest.mark.skipif(shutil.which("curl") is None, reason="the commands use curl")
def test_a_copy_of_the_folder_has_all_that_was_acknowledged_before_it(tmp_path):
    """In the order that the page names, while records come and a snapshot is made."""
    sent, ended, remembers = [], threading.Event(), lambda: Engine(ct.MultitaskLogistic())

    def send():
        while not ended.is_set():
            service.observe([Record(id=f"e{len(sent)}", task="ann", x={"f": 1.0}, y=len(sent) % 2 == 0)])
            sent.append(f"e{len(sent)}")

    with Service(tmp_path / "state", remembers) as service:
        service.snapshot()
        sender = threading.Thread(target=send)
        sender.start()
        try:
            for n in range(4):
                before, copied = len(sent), tmp_path / f"copy-{n}"
                wait_until(lambda before=before: len(sent) >= before + 2)
                copied.mkdir()
                for k, names in enumerate(("flushed", "snapshot-*.coterie", "journal-*")):
                    for path in sorted((tmp_path / "state").glob(names)):
                        shutil.copy(path, copied)
                    if k == n:
                        service.snapshot()
                    time.sleep(0.02)
                with Service(copied, remembers) as again:
                    assert set(sent[:before]) <= set(again.engine.learned)
        finally:
            ended.set()
            sender.join()


def test_a_copy_that_came_between_two_snapshots_is_refused(tmp_path):
    def copy(place):
        for path in (tmp_path / "state").glob(place):
            shutil.copy(path, copied)

    copied = tmp_path / "copy"
    copied.mkdir()
    with Service(tmp_path / "state", make, segment=1) as service:
        for place in ("flushed", "snapshot-*.coterie"):
            copy(place)
        for k in range(3):
            service.observe([Record(id=f"e{k}", task="ann", x={"f": 1.0}, y=k % 2 == 0)])
            service.snapshot()
        copy("journal-*")
    with pytest.raises(ValueError, match=r"the journal holds offsets [1-9]\d* to \d+, not 0"):
        Service(copied, make)


@pytest.mark.slow
def test_what_operators_do_is_run(tmp_path):
    values = [k + 0.5 for k in range(27)] + [-2.5, 1e-3, None]
    labels = ["left" if k % 3 else "bought" for k in range(30)]
    prices = [{"id": f"e{k}", "task": f"u{k % 2}", "x": {"price": values[k]}, "y": labels[k]} for k in range(30)]
    late = {"id": "late", "y": "left"}
    operator, predictions = Operator(tmp_path), {}
    try:
        for line in commands():
            predictions[line] = operator.run(line)
            if "curl" in line and "backup" in line:
                operator.run(line)  # a night in which nothing came
            if line.startswith("coterie serve"):
                wait_until_ready(operator.url)
                assert httpx.get(f"{operator.url}/state").json()["alarms"] == {}
            if line.startswith("coterie serve --data state/"):
                assert operator.send("observe", *prices).json()["learned"] == 30
                operator.send("predict", {"id": "late", "task": "u1", "x": {"price": 1.0}})
                wrong = operator.send("observe", prices[0] | {"y": "bougth"}).json()
                assert "the declared labels are" in wrong["error"]
            if line.startswith(("coterie serve --data restored/", "coterie serve --data spare/")):
                assert httpx.get(f"{operator.url}/tasks").json()["tasks"] == ["u0", "u1"]
                again = operator.send("observe", prices[0], late).json()
                assert (again["duplicate"], again["learned"]) == (1, 1)
    finally:
        operator.stop()
    assert json.loads(predictions["curl -fsS localhost:8000/state"])["features"]["known"] == 1
    assert "coterie_features_stopped 0.0" in predictions["curl -fsS localhost:8000/metrics"]
    assert 'coterie_refused_total{status="422"} 1.0' in predictions["curl -fsS localhost:8000/metrics"]
