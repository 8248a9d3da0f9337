"""A service that chooses: an id has one answer and one reward, and all of it is a function of the journal."""

import json
import shutil
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coterie as ct
from coterie.server.app import make_app
from coterie.server.bandit_engine import BanditEngine
from coterie.server.engine import Engine
from coterie.server.events import Event, JournalRecord, Rewarded
from coterie.server.service import Service
from coterie.server.service_errors import ConflictError, UnknownError
from states import digest
from terminal import refused, run
from test_serve import UPDATED, TestClient, killed_amid, post, rebuilt, serving, shown, start
from test_serve_operators import _LABELS, _RECORDS

ACTIONS = ["shoes", "hats", "coats"]


def make(**options):
    return BanditEngine(ct.Bandit(actions=ACTIONS), **options)


def offer(k, **names):
    """The k-th record to choose for."""
    x = {"a": float(np.random.default_rng(k).normal()), "page": ["x", "y"][k % 2]}
    return JournalRecord(**({"id": f"e{k}", "task": f"u{k % 4}", "x": x} | names))


def reward_of(task, action):
    """Users like other actions."""
    return float(ACTIONS.index(action) == int(task[1:]) % 3)


def chosen(engine, at, *records):
    """Apply a choice as the service does; what it told."""
    return engine.apply([Event("chosen", at, engine.choose(records))])[0]


def rewarded(engine, at, **rewards):
    records = [JournalRecord(id=name, reward=reward) for name, reward in rewards.items()]
    return engine.apply([Event("rewarded", at, records)])[0]


def go_on(service, first, last):
    """Choose and reward some records, some of which come with others in a frame."""
    for k in range(first, last, 3):
        rewarded_choices = service.choose([offer(place) for place in range(k, k + 3)]).choices[: 1 + k % 3]
        service.reward([JournalRecord(id=c.id, reward=reward_of(c.task, c.action)) for c in rewarded_choices])


# -- the engine --------------------------------------------------------------------------------------------------------


def test_an_id_has_one_answer_and_one_reward():
    engine = make()
    (first,) = chosen(engine, 0.0, offer(0)).choices
    assert first.probability == 1 / 3
    assert rewarded(engine, 1.0, e0=1.0) == Rewarded(1)
    for k in range(1, 30):
        chosen(engine, 1.0, offer(k))
        assert rewarded(engine, 1.0, **{f"e{k}": float(k % 2)}) == Rewarded(1)
    (again,) = chosen(engine, 2.0, offer(0), offer(0)).choices[1:]
    assert again == first
    before = digest(engine.model)
    assert rewarded(engine, 2.0, e0=1.0) == Rewarded(1)
    predictions = rewarded(engine, 2.0, e0=0.0)
    assert repr(predictions) == "ConflictError(\"records[0].reward is 0.0, but id 'e0' has the reward 1.0\")"
    other = repr(ConflictError("records[0]: id 'e0' has an earlier choice with different content"))
    for changed in (offer(0, task="u1"), offer(0, x={}), offer(0, actions=ACTIONS[:2])):
        assert repr(chosen(engine, 2.0, changed)) == other
    # it was known when it was asked for again
    late = engine.apply([Event("chosen", 2.0, [JournalRecord(id="late", x={})])])
    assert list(map(str, late)) == ["records[0]: id 'late' has just expired; send it again"]
    assert digest(engine.model) == before
    assert (engine.counts.choices, engine.counts.rewards) == (30, 30)


def test_rewards_are_learned_all_or_none():
    engine = make()
    chosen(engine, 0.0, *map(offer, range(4)))
    empty = digest(engine)
    predictions = rewarded(engine, 0.0, e0=1.0, never=1.0)
    unknown = "records[1].id 'never' is not known: nothing was chosen for it, or it has expired"
    assert repr(predictions) == repr(UnknownError(unknown))
    predictions = rewarded(engine, 0.0, e0=1.0, e1=1e300)
    assert str(predictions) == "records[1]: label of 1e+300 is beyond the limit of 1e+100"
    twice = [JournalRecord(id="e0", reward=1.0), JournalRecord(id="e0", reward=0.0)]
    assert isinstance(engine.apply([Event("rewarded", 0.0, twice)])[0], ConflictError)
    assert digest(engine) == empty
    twice[1].reward = 1.0
    assert engine.apply([Event("rewarded", 0.0, twice)]) == [Rewarded(2)]
    assert engine.counts.rewards == 1


def test_without_a_window_nothing_is_learned_of_a_choice_that_expires():
    engine = make(expire=10.0)
    for k in range(3):
        chosen(engine, 4.0 * k, offer(k))
    chosen(engine, 12.0, offer(9))
    assert list(engine.waiting) == ["e1", "e2", "e9"]
    assert isinstance(rewarded(engine, 12.0, e0=1.0), UnknownError)
    assert (engine.expired, engine.counts.rewards) == (1, 0)


def test_within_a_window_no_reward_is_a_reward_of_zero():
    engine, alone = make(window=10.0), make()
    for bandit in (engine, alone):
        chosen(bandit, 0.0, offer(0), offer(1))
        rewarded(bandit, 10.0, e0=1.0)  # it comes just in time: the frame that has it ends the window
    rewarded(alone, 10.0, e1=0.0)
    assert digest(engine.model) == digest(alone.model)
    assert rewarded(engine, 11.0, e1=0.0) == Rewarded(1)
    assert isinstance(rewarded(engine, 11.0, e1=1.0), ConflictError)
    assert (list(engine.waiting), engine.counts.rewards) == ([], 2)
    with pytest.raises(ValueError, match=r"window must be a number of seconds above 0 and at most 5, got 6"):
        make(window=6.0, expire=5.0)
    with pytest.raises(ValueError, match=r"a window adds rewards of 0, which are outside reward_range=\(1, 2\)"):
        BanditEngine(ct.Bandit(reward_range=(1, 2)), window=1.0)


# -- the folder --------------------------------------------------------------------------------------------------------


def test_after_a_crash_a_snapshot_and_the_journal_make_the_same_bits(tmp_path):
    folder, crashed = tmp_path / "first", tmp_path / "crashed"
    with Service(folder, make) as service:
        go_on(service, 0, 45)
        service.snapshot()
        go_on(service, 45, 90)
        service.forget(["u3"])
        go_on(service, 90, 120)
        shutil.copytree(folder, crashed, ignore=shutil.ignore_patterns("lock"))
        bits = digest(service.engine)
    assert digest(rebuilt(crashed, make)) == bits
    with Service(crashed, make) as service:
        assert digest(service.engine) == bits


def test_the_whole_journal_makes_the_same_bits_where_rewards_of_zero_are_added(tmp_path):
    begin = lambda: make(window=3600.0, expire=7200.0)  # noqa: E731
    with Service(tmp_path, begin) as service:
        go_on(service, 0, 60)
        service.clock = lambda: time.time() + 3700
        go_on(service, 60, 90)
        assert service.engine.counts.rewards > 60
        bits = digest(service.engine)
    assert digest(rebuilt(tmp_path, begin)) == bits


def test_an_id_that_two_ask_for_at_once_has_one_answer(tmp_path):
    predictions, barrier = [], threading.Barrier(4)
    with Service(tmp_path, make) as service:
        go_on(service, 0, 30)

        def ask():
            barrier.wait()
            for k in range(40, 80):
                (choice,) = service.choose([offer(k)]).choices
                service.reward([JournalRecord(id=choice.id, reward=reward_of(choice.task, choice.action))])
                predictions.append(choice)

        with ThreadPoolExecutor(4) as pool:
            for asked in [pool.submit(ask) for _ in range(4)]:
                asked.result()
        assert len(predictions) == 160
        assert len({repr(choice) for choice in predictions}) == 40
        assert sum(f"e{k}" in service.engine.learned for k in range(40, 80)) == 40


# -- over HTTP ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def client(tmp_path):
    with Service(tmp_path, lambda: BanditEngine(ct.Bandit())) as service:
        yield TestClient(make_app(service, max_records=100))


def test_choose_reward_and_the_rest(client):
    body = {"id": "e", "task": "ann", "x": {"hour": 9}, "actions": ["shoes", {"no": 1}]}
    assert post(client, "/choose", body).json()["error"].startswith("records[0]: actions must all be")
    body["actions"] = [{"kind": "shoes", "price": 3.5}, {"kind": "hats", "price": 1}]
    result = post(client, "/choose", body).json()
    (choice,) = result["choices"]
    half = {"probability": 0.5, "probabilities": [0.5, 0.5]}
    assert choice == {"id": "e", "task": "ann", "action": choice["action"]} | half
    assert choice["action"] in body["actions"]
    assert result["offset"] > 0
    assert client.get("/metrics").text.count("coterie_waiting_labels 1.0") == 1
    assert client.get("/tasks/ann").json() == {"task": "ann", "waiting": 1, "examples": 0}
    assert post(client, "/reward", {"id": "e", "reward": True}).json()["rewarded"] == 1
    assert post(client, "/reward", {"id": "e", "reward": 1}).json()["rewarded"] == 1
    assert post(client, "/choose", body).json()["choices"] == [choice]
    assert post(client, "/choose", body | {"task": "bob"}).status_code == 409
    assert post(client, "/reward", {"id": "e", "reward": 0}).status_code == 409
    assert post(client, "/reward", {"id": "f", "reward": 0}).status_code == 404
    many = post(client, "/choose", *(body | {"id": f"{k}", "task": k % 3} for k in range(80))).json()["choices"]
    assert {choice["probability"] for choice in many} <= {0.0025, 0.5, 0.9975}
    assert post(client, "/reward", *({"id": f"{k}", "reward": k % 2} for k in range(80))).json()["rewarded"] == 80
    assert client.post("/choose", json={"records": []}).json()["choices"] == []
    assert client.get("/tasks").json() == {"tasks": ["ann", 0, 1, 2], "known": 4}
    assert "differs_in" in client.get("/tasks/ann").json()
    metrics = client.get("/metrics").text
    for line in (
        "coterie_choices 81.0",
        "coterie_exploration_ratio 0.0",
        "coterie_value 0.50",
        'coterie_records_total{verb="reward"} 82.0',
    ):
        assert line in metrics
    worth = client.get("/verdict").json()
    assert worth["examples"] == 81
    assert worth["sentence"] == f"The mean reward of 81 choices is {41 / 81:.3g}."
    assert client.delete("/tasks/ann").status_code == 200
    assert client.post("/snapshot").status_code == 200
    for path in ("/predict", "/observe"):
        answer = post(client, path, {"task": "ann", "x": {}, "y": 1} if path == "/observe" else {"x": {}})
        assert (answer.status_code, answer.json()["error"][:20]) == (404, "the service chooses:")


def test_what_a_client_logs_is_enough_for_reliable_intervals(client, tmp_path):
    log = tmp_path / "log.jsonl"
    with log.open("w") as file:
        for k in range(60):
            task, hour = f"u{k % 3}", k % 24
            body = {"id": f"{k}", "task": task, "x": {"hour": hour}, "actions": ACTIONS}
            (choice,) = post(client, "/choose", body).json()["choices"]
            probabilities = dict(zip(ACTIONS, choice["probabilities"], strict=True))
            assert probabilities[choice["action"]] == choice["probability"]
            reward = reward_of(task, choice["action"])
            post(client, "/reward", {"id": f"{k}", "reward": reward})
            assert post(client, "/choose", body).json()["choices"] == [choice]
            row = {"user": task, "hour": hour, "shown": choice["action"], "p": probabilities, "click": reward}
            file.write(json.dumps(row) + "\n")
    assert min(row["p"].values()) < max(row["p"].values())
    options = ("--task", "user", "--action", "shown", "--reward", "click", "--probabilities", "p")
    assert "may be too narrow" not in run("bandit", log, *options).output


def test_before_the_first_reward_nothing_has_a_value(client):
    result = client.get("/verdict").json()
    assert (result["sentence"], result["choices"]["value"]) == ("No reward has come yet.", None)
    assert "coterie_value NaN" in client.get("/metrics").text
    assert client.get("/verdict?against=best").status_code == 422


def of_one(**changed):
    return {"id": "e", "task": "ann", "x": {"hour": 9}, "actions": ["a", "b"]} | changed


def nested(depth):
    return {"p": [nested(depth - 1)]} if depth else 1


BAD = [
    ("/choose", of_one(actions=[]), 422, "records[0]: there must be at least one action, got none"),
    ("/choose", of_one(actions=[{"p": 1}, {"p": 1}]), 422, "occurs twice"),
    ("/choose", of_one(actions=None), 422, "records[0]: there are no actions"),
    ("/choose", of_one(actions="ab"), 422, "Expected `array | null`, got `str` - at `$.records[0].actions`"),
    ("/choose", of_one(x={"hour": {"p": 1}}), 422, "records[0]: feature 'hour' must be a finite number or a string"),
    ("/choose", of_one(x=nested(2)), 422, "got `object` - at `$.records[0].x[...][0]`"),
    ("/choose", of_one(actions=[nested(2), {}]), 422, "got `object` - at `$.records[0].actions[0][...][0]`"),
    ("/choose", of_one(id=""), 422, "Expected `str` of length >= 1 - at `$.records[0].id`"),
    ("/reward", {"id": "", "reward": 1}, 422, "Expected `str` of length >= 1 - at `$.records[0].id`"),
    ("/reward", {"id": 201 * "i", "reward": 1}, 422, "Expected `str` of length <= 200"),
    ("/choose", {"task": "ann"}, 422, 'expected {"records": [{"id": …, "task": …, "x": {…}, "actions": […]}, …]}'),
    ("/choose", {"records": [of_one(), {}]}, 422, "missing required field `id` - at `$.records[1]`"),
    ("/choose", {"records": [of_one()] * 101}, 413, "101 records are too many; at most 100 are allowed in one request"),
    ("/reward", {"id": "e"}, 422, '`reward` - at `$.records[0]`; expected {"records": [{"id": …, "reward": …}, …]}'),
    ("/reward", {"id": "e", "reward": "much"}, 422, "Expected `bool | float`, got `str`"),
]


@pytest.mark.parametrize(("path", "body", "status", "message"), BAD)
def test_a_bad_request_is_refused_whole(client, path, body, status, message):
    body = body if "records" in body else {"records": [body]}
    answer = client.post(path, content=json.dumps(body).encode())
    assert answer.status_code == status
    assert message in answer.json()["error"]
    assert client.get("/state").json()["waiting"] == 0
    assert post(client, "/choose", of_one()).status_code == 200


_REWARDS = st.floats() | st.integers() | st.booleans() | st.none() | st.text(max_size=3)
_ACTIONS = st.none() | st.lists(_LABELS, max_size=4) | st.lists(_RECORDS, max_size=3)


@settings(max_examples=10)
@given(records=st.lists(st.tuples(_RECORDS, _LABELS, _ACTIONS, _REWARDS), max_size=4))
def test_whatever_is_taken_is_given_back(records, tmp_path_factory):
    folder, begin = tmp_path_factory.mktemp("service"), lambda: BanditEngine(ct.Bandit())
    with Service(folder, begin) as service:
        client = TestClient(make_app(service))
        for k, (x, task, actions, reward) in enumerate(records):
            body = json.dumps({"records": [{"id": f"e{k}", "task": task, "x": x, "actions": actions}]}).encode()
            predictions = client.post("/choose", content=body)
            for name in (f"e{k}", 60 * str(task)):  # the other one is of no choice, may be long, and is refused
                client.post("/reward", content=json.dumps({"records": [{"id": name, "reward": reward}]}).encode())
            again = client.post("/choose", content=body)
            assert again.status_code == predictions.status_code
            assert again.json().get("choices") == predictions.json().get("choices")
        assert client.post("/snapshot").status_code == 200
        before = digest(service.engine)
    with Service(folder, begin) as service:
        assert (service.replayed, digest(service.engine)) == (0, before)
        assert digest(rebuilt(folder, begin)) == before


def test_a_service_of_labels_chooses_nothing(tmp_path):
    with Service(tmp_path, lambda: Engine(ct.MultitaskLogistic())) as service:
        client = TestClient(make_app(service))
        for path, body in (("/choose", of_one()), ("/reward", {"id": "e", "reward": 1})):
            answer = post(client, path, body)
            assert answer.status_code == 404
            assert answer.json()["error"] == "the service learns labels: it has no /choose and no /reward"
        assert "coterie_choices" not in client.get("/metrics").text


def test_options_that_do_not_go_together_are_refused(tmp_path):
    for options, message in (
        (["--window", "5m"], "--window requires --bandit"),
        (["--bandit", "--window", "48h"], "window must be a number of seconds above 0 and at most 86400, got 172800"),
        (["--bandit", "--many-classes"], "--bandit: a bandit's classifier needs probabilities of two classes"),
        (["--bandit", "--labels", "a,b"], "--labels: a bandit has no labels to declare"),
    ):
        assert message in refused("serve", "--data", str(tmp_path / "state"), *options)
    Service(tmp_path / "labels", lambda: Engine(ct.MultitaskLogistic())).close()
    message = refused("serve", "--data", str(tmp_path / "labels"), "--bandit")
    assert "--bandit is not supported: the service in this folder learns labels" in message
    Service(tmp_path / "bandit", make).close()
    message = refused("serve", "--data", str(tmp_path / "bandit"), "--window", "5m")
    assert "--window differs from the value used since the first start of the service" in message


def test_a_killed_service_has_all_choices_and_rewards(tmp_path):
    predictions, rewards = {}, {}
    model = tmp_path / "bandit.coterie"
    ct.Bandit(actions=ACTIONS).save(model)

    def exchange(client, rng):
        first = int(rng.integers(10**9))
        offers = map(offer, range(first, first + int(rng.integers(1, 9))))
        body = [{"id": event.id, "task": event.task, "x": event.x} for event in offers]
        choices = post(client, "/choose", *body).json().get("choices", [])  # none while it is busy
        predictions.update({choice["id"]: (body[k], choice) for k, choice in enumerate(choices)})
        rewards_sent = {c["id"]: reward_of(c["task"], c["action"]) for c in choices[::2]}
        answer = post(client, "/reward", *({"id": name, "reward": reward} for name, reward in rewards_sent.items()))
        if answer.status_code == 200:
            rewards.update(rewards_sent)

    keep_all = "import coterie.server.service as s; s.KEPT = 100"
    for trial in range(2):
        begun = [str(model)] if trial == 0 else []
        started = start(tmp_path / "state", "--snapshot", "20", *begun, before=keep_all)
        killed_amid(started, exchange, 10 * trial, rewards)
    with Service(tmp_path / "state", make) as service:
        assert {name: service.engine.learned[name].reward for name in rewards} == rewards
        client = TestClient(make_app(service))
        for body, choice in list(predictions.values())[-50:]:
            assert post(client, "/choose", body).json()["choices"] == [choice]
    assert digest(rebuilt(tmp_path / "state", make)) == digest(service.engine)


@pytest.mark.slow
def test_the_live_page_in_a_browser(tmp_path, chromium):
    import httpx2 as httpx

    with serving(tmp_path, "--bandit", "--window", "30m") as (_, url):
        with httpx.Client(base_url=url, timeout=60) as client, chromium.page(width=1400, touch=False) as page:
            page.open(url)
            page.ask(UPDATED)
            assert page.ask("document.getElementById('sentence').textContent") == "No reward has come yet."
            for k in range(100):
                body = {"id": f"{k}", "task": f"u{k % 4}", "x": offer(k).x, "actions": ACTIONS}
                (choice,) = post(client, "/choose", body).json()["choices"]
                post(client, "/reward", {"id": choice["id"], "reward": reward_of(choice["task"], choice["action"])})
        for width in (1400, 390):
            with chromium.page(width=width, touch=width < 500) as page:
                page.open(url)
                page.ask(shown("#sentence", "The mean reward of 100 choices is"))
                assert page.errors == []
                assert page.ask("document.querySelector('h1').textContent") == "What are the choices worth?"
                assert page.ask("document.getElementById('errors').hidden")
                assert "explored" in page.ask("document.getElementById('counts').textContent")
                assert page.ask("document.documentElement.scrollWidth") <= width
