"""The service in any order of requests, snapshots, restarts and crashes, beside a dictionary and a model without a disk."""

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

import coterie as ct
from coterie.server.engine import Engine
from coterie.server.events import Record
from coterie.server.service import Service

IDS = [f"e{n}" for n in range(3)]
TASKS = ["ann", "bob", 7]
labels = st.booleans()
features = st.dictionaries(st.sampled_from(["a", "b", "c"]), st.sampled_from([-1.0, 0.5, 2.0]), min_size=1)
PROBES = [({"a": 1.0}, "ann"), ({"b": 1.0, "c": -2.0}, "bob"), ({"a": 3.0, "c": 1.0}, 7), ({"b": 1.0}, "never")]


def begin():
    return Engine(ct.MultitaskPerceptron())


def copy_folder(folder, target):
    """Copy a folder; return False if a snapshot replaced files meanwhile, after which docs/service.md copies again."""
    try:
        shutil.copytree(folder, target)
    except (FileNotFoundError, shutil.Error):
        return False
    return True


class Requests(RuleBasedStateMachine):
    """``waiting`` and ``learned`` are by id what a service must know; ``model`` has learned what was acknowledged."""

    def __init__(self):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.crashes = 0
        self.service = Service(self.folder / "0", begin)
        self.model, self.waiting, self.learned = ct.MultitaskPerceptron(), {}, set()

    def teardown(self):
        self.service.close()
        shutil.rmtree(self.folder)

    def learn(self, x, task, label):
        self.model.learn_one(x, label, task=task)

    @property
    def tasks(self):
        return set(self.model.tasks_) if self.model.__sklearn_is_fitted__() else set()

    @rule(name=st.sampled_from(IDS), x=features, task=st.sampled_from(TASKS))
    def predict(self, name, x, task):
        self.service.predict([Record(id=name, task=task, x=x)])
        assert self.service.observe([Record(id="nobody's", y=True)]).unknown == ["nobody's"]  # after the prediction
        if name not in self.learned:
            self.waiting[name] = x, task

    @rule(name=st.sampled_from(IDS), label=labels)
    def label(self, name, label):
        answer = self.service.observe([Record(id=name, y=label)])
        known = name in self.waiting
        assert (answer.learned, answer.duplicate) == (known, name in self.learned)
        assert answer.unknown == ([] if known or name in self.learned else [name])
        if known:
            self.learn(*self.waiting.pop(name), label)
            self.learned.add(name)

    @rule(name=st.sampled_from(IDS), x=features, task=st.sampled_from(TASKS), label=labels)
    def label_twice(self, name, x, task, label):
        self.predict(name, x, task)
        self.label(name, label)
        self.label(name, not label)

    @rule(records=st.lists(st.tuples(features, st.sampled_from(TASKS), labels), min_size=1, max_size=4))
    def observe(self, records):
        answer = self.service.observe([Record(task=task, x=x, y=label) for x, task, label in records])
        assert answer.learned == len(records)
        for x, task, label in records:
            self.learn(x, task, label)

    @rule(record=st.tuples(features, st.sampled_from(TASKS), labels), bad=st.sampled_from([{"a": "x" * 10**4}, {}]))
    def observe_nothing_of_a_refused_request(self, record, bad):
        x, task, label = record
        request = [Record(task=task, x=x, y=label), Record(task=task, x=bad or {"a": float("nan")}, y=None)]
        with pytest.raises(ValueError):  # noqa: PT011 - whatever it says
            self.service.observe(request)

    @rule(task=st.sampled_from(["ann", "bob", 7, 0]))
    def forget(self, task):
        waits = [name for name, (_, whose) in self.waiting.items() if whose == task]
        if task not in self.tasks and not waits:
            with pytest.raises(ValueError):  # noqa: PT011 - whatever it says
                self.service.forget([task])
            return
        self.service.forget([task])
        for name in waits:
            del self.waiting[name]
        if task in self.tasks:
            self.model.forget_task(task)

    @rule()
    def snapshot(self):
        self.service.snapshot()

    @rule()
    def restart(self):
        self.service.close()
        self.service = Service(self.service.folder, begin)

    @precondition(lambda self: self.crashes < 5)
    @rule()
    def crash(self):
        self.crashes += 1
        copied = self.folder / str(self.crashes)
        while not copy_folder(self.service.folder, copied):  # what the disk has while the service runs
            shutil.rmtree(copied)
        self.service.close()
        self.service = Service(copied, begin)

    @invariant()
    def knows_what_it_acknowledged(self):
        engine = self.service.engine
        assert set(engine.waiting) == set(self.waiting)
        assert set(engine.tasks) == self.tasks
        if self.tasks:
            for x, task in PROBES:
                assert engine.model.decision_function_one(x, task) == self.model.decision_function_one(x, task)


Requests.TestCase.settings = settings(max_examples=12, stateful_step_count=20, deadline=None)
TestRequests = Requests.TestCase
