"""What a policy is worth by a log: equal to the definition, sure of what it says, and refused where nobody can know."""

import math
import re

import numpy as np
import pandas as pd
import pytest

import coterie as ct
from coterie.bandits.extremes import Extremes
from coterie.bandits.off_policy import policy_gain, policy_value
from reference import off_policy as literal

HALVES = [[0.5, 0.5]] * 3
ESTIMATORS = ("dr*", "dr")


def drawn(n, K, seed, rewards=None, floor=0.1):
    """Arrays of a log: reward, shown, mu, pi, q."""
    rng = np.random.default_rng(seed)
    mu = (1 - floor) * rng.dirichlet(np.ones(K), size=n) + floor / K
    pi = rng.dirichlet(0.3 * np.ones(K), size=n)
    shown = np.array([rng.choice(K, p=p / p.sum()) for p in mu])
    return (rewards or (lambda rng, n: rng.normal(size=n)))(rng, n), shown, mu, pi, rng.normal(size=(n, K))


def known_to(estimator, reward, shown, mu, pi, q):
    """The arrays of a log that has all probabilities, or only those of what was shown."""
    return reward, shown, mu if estimator == "dr*" else mu[np.arange(len(mu)), shown], pi, q


def log_of(reward, shown, mu, **arrays):
    """A log of these arrays."""
    return ct.bandits.BanditLog(None, shown, reward, probabilities=mu, actions=list(range(mu.shape[1])), **arrays)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize(("n", "K", "seed"), [(2, 2, 0), (7, 1, 1), (40, 3, 2), (200, 10, 3)])
def test_values_and_intervals_are_those_of_the_definition(n, K, seed, estimator):
    arrays = drawn(n, K, seed, lambda rng, n: rng.pareto(3.0, n))
    result = policy_value(*known_to(estimator, *arrays), level=0.9)
    lists = [array.tolist() for array in arrays]
    value, phi = literal.numbers(*lists)
    low, high = literal.Log(*lists).interval(0.9) if estimator == "dr*" else literal.interval(phi, value, 0.9)
    wanted = [value, low, high, literal.effective_n(literal.weights(*lists[1:4]))]
    np.testing.assert_allclose([result.value, result.low, result.high, result.effective_n], wanted, rtol=1e-9)
    assert (result.n, result.estimator, result.level) == (n, estimator, 0.9)


REWARDS = {
    "0/1": (lambda rng, n: 1.0 * (rng.random(n) < 0.3), (0, 1)),
    "rarely 1": (lambda rng, n: 1.0 * (rng.random(n) < 0.03), (0, 1)),
    "always 0": (lambda rng, n: np.zeros(n), (0, 1)),
    "always 1": (lambda rng, n: np.ones(n), (0, 1)),
    "always 0 of 500": (lambda rng, n: np.zeros(n), (0, 500)),
    "always 7 of 500": (lambda rng, n: np.full(n, 7.0), (0, 500)),
    "amounts": (lambda rng, n: (rng.random(n) < 0.1) * rng.gamma(2.0, 10.0, n), (0, 500)),
    "normal": (lambda rng, n: rng.normal(size=n), (-10, 9)),
}


@pytest.mark.parametrize("ranged", [False, True])
@pytest.mark.parametrize("rewards", REWARDS)
def test_intervals_of_dr_star_are_those_of_the_definition(rewards, ranged):
    """Many rows and few, with few effective ones and many; values and gains."""
    draw, reward_range = REWARDS[rewards]
    unknown = 0
    for n, floor in ((2, 0.5), (30, 0.03), (60, 0.001), (150, 0.5)):
        reward, shown, mu, pi, q = drawn(n, 3, 10 + n, draw, floor)
        options = {"reward_range": reward_range if ranged else None}
        for against in (None, np.random.default_rng(n).dirichlet(np.ones(3), size=n), pi):
            arrays = reward, shown, mu, pi, 0.3 * q, *([] if against is None else [against])
            result = (policy_value if against is None else policy_gain)(*arrays, **options)
            lists = [array.tolist() for array in arrays] + ([None] if against is None else [])
            log = literal.Log(*lists)
            wanted = [log.value, *log.interval(0.95, options["reward_range"])]
            np.testing.assert_allclose([result.value, result.low, result.high], wanted, rtol=1e-7, atol=1e-9)
            unknown += not math.isfinite(result.low)
            assert math.isfinite(result.low) or "is unknown: too few rows" in result.warning
    assert unknown == 0 if ranged else unknown > 0 or rewards not in ("amounts", "normal")


def test_extremes_of_sixteen_tasks_are_kept():
    extremes = Extremes()
    for k in range(100):
        extremes.add(k, float(k))
    assert (len(extremes.lowest), len(extremes.highest), extremes.low, extremes.high) == (16, 16, 0.0, 99.0)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_intervals_are_cut_to_the_range_of_rewards(estimator):
    reward, shown, mu, pi, q = drawn(40, 2, 1, lambda rng, n: 1.0 * (rng.random(n) < 0.9), 0.3)
    for cluster in (None, [t % 12 for t in range(40)]):
        arrays = known_to(estimator, reward, shown, mu, pi, 0.0 * q)
        free = policy_value(*arrays, cluster=cluster, level=0.9999)
        ranged = policy_value(*arrays, cluster=cluster, level=0.9999, reward_range=(0, 1))
        assert (ranged.low, ranged.high) == (max(free.low, 0.0), min(free.high, 1.0))
        gain = policy_gain(*arrays, pi[:, ::-1], cluster=cluster, level=0.9999, reward_range=(0, 1))
        assert -1.0 <= gain.low <= gain.high <= 1.0


def test_equal_rewards_leave_the_rest_of_a_range_open():
    """A reward of 500 in one of a hundred rows would often be missed by a log of a hundred rows."""
    _, shown, mu, pi, _ = drawn(100, 2, 3)
    arrays = np.zeros(100), shown, mu, pi, np.zeros((100, 2))
    value, gain = (
        call(*arrays, *other, reward_range=(0, 500)) for call, *other in ((policy_value,), (policy_gain, mu))
    )
    assert value.low == 0.0
    assert 5.0 < value.high < 100.0
    assert gain.low < 0.0 < gain.high
    assert value.warning == gain.warning == ""


def test_the_interval_for_new_tasks_is_clustered_by_task():
    reward, shown, mu, pi, q = drawn(120, 3, 1, floor=0.6)
    effect = np.repeat(np.random.default_rng(2).normal(size=12), 10)
    log = log_of(reward + 2 * effect, shown, mu, task=np.repeat(np.arange(12), 10))
    of_log, of_new = (ct.off_policy(log, pi, predicted=q, for_new_tasks=new) for new in (False, True))
    _, phi = literal.numbers(*(array.tolist() for array in (log.reward, shown, mu, pi, q)))
    wanted = literal.for_new_tasks(phi, log.task, of_log.low, of_log.high, 0.95)
    assert (of_new.low, of_new.high) == pytest.approx(wanted, rel=1e-9)
    assert of_new.high - of_new.low > 1.2 * (of_log.high - of_log.low)
    few = policy_value(reward, shown, mu, pi, q, cluster=["ann", "bob"] * 60)
    assert few.warning == "is unknown: 2 tasks cannot show how new tasks differ, 10 are the least"
    assert str(few).endswith(f"; the interval {few.warning}")
    gain = policy_gain(reward + 2 * effect, shown, mu, pi, q, cluster=log.task)
    assert gain.high - gain.low >= np.ptp(policy_gain(reward + 2 * effect, shown, mu, pi, q)[1:3])


def always_rare(draw, truth, n, mu=(0.99, 0.01), pi=(0.0, 1.0), logs=100):
    """How often 95 % intervals hold the truth of a policy that prefers what the log rarely shows, and are unknown."""
    rng, holds, unknown = np.random.default_rng(0), 0, 0
    many = [np.tile(np.asarray(values, float), (n, 1)) for values in (mu, pi, np.zeros(2))]
    for _ in range(logs):
        shown = 1 * (rng.random(n) < mu[1])
        result = policy_value(draw(rng, shown), shown, *many)
        holds += result.low <= truth <= result.high
        unknown += result.low == -math.inf
    return holds / logs, unknown / logs


@pytest.mark.parametrize("n", [50, 200, 1000])
@pytest.mark.parametrize("pay", [(0.01, 0.5), (0.05, 0.3), (0.5, 0.05)])
def test_intervals_of_rare_actions_hold_the_truth(n, pay):
    """A policy that always shows what the log shows in 1 % of rows: without the score interval 0.33 to 0.9 hold it."""
    share, unknown = always_rare(lambda rng, shown: 1.0 * (rng.random(len(shown)) < np.array(pay)[shown]), pay[1], n)
    assert (share >= 0.95, unknown) == (True, 0.0)


def test_amounts_have_no_interval_while_too_few_rows_show_them():
    def amounts(rng, shown):
        chance, scale = np.array([[0.02, 15.0], [0.1, 30.0]])[shown].T
        return (rng.random(len(shown)) < chance) * rng.gamma(2.0, scale)

    shares = {n: always_rare(amounts, 6.0, n, (0.95, 0.05), logs=100) for n in (200, 1000, 4000)}
    assert min(share for share, _ in shares.values()) >= 0.93
    assert shares[200][1] > 0.8 > shares[1000][1] > 0.05 > shares[4000][1] == 0.0


def test_intervals_hold_the_truth_where_others_do_not():
    """The policy prefers what the log seldom shows, and rewards have a long tail; the coverage is that of 95 %."""
    rng = np.random.default_rng(0)
    mu, pi, worth = np.array([0.9, 0.08, 0.02]), np.array([0.1, 0.3, 0.6]), np.array([1.0, 2.0, 3.0])
    truth, n, covered = float(pi @ worth), 300, dict.fromkeys(ESTIMATORS, 0)
    for _ in range(300):
        shown = rng.choice(3, size=n, p=mu)
        reward = worth[shown] * rng.pareto(2.5, n) * 1.5
        many = [np.tile(values, (n, 1)) for values in (mu, pi, worth / 2)]
        for estimator in ESTIMATORS:
            result = policy_value(*known_to(estimator, reward, shown, *many))
            covered[estimator] += result.low <= truth <= result.high
    assert covered["dr*"] >= 0.93 * 300
    assert covered["dr"] < 0.9 * 300


def test_weights_that_were_never_drawn_widen_the_interval():
    """The policy's action was never shown, although it could have been: only its probability tells."""
    reward, shown = np.random.default_rng(2).normal(size=50), np.zeros(50, np.int64)
    mu, pi = np.tile([0.99, 0.01], (50, 1)), np.tile([0.0, 1.0], (50, 1))
    result = policy_value(reward, shown, mu, pi, np.zeros((50, 2)))
    assert result.effective_n == 0.0
    assert result.high - result.low > 4
    with pytest.raises(ValueError, match="the policy never chooses the logged action in 50 rows"):
        policy_value(*known_to("dr", reward, shown, mu, pi, np.zeros((50, 2))))


def test_without_the_probabilities_of_all_the_interval_says_that_it_may_be_too_narrow():
    reward, shown, mu, pi, _ = drawn(300, 3, 5)
    log = ct.bandits.BanditLog(None, shown, reward, probability=mu[np.arange(300), shown], actions=[0, 1, 2])
    result, all_known = ct.off_policy(log, pi), ct.off_policy(log_of(reward, shown, mu), pi)
    assert result.estimator == "dr"
    assert "only" in result.warning
    assert "may be too narrow" in str(result)
    assert result.value == all_known.value
    assert result.high - result.low < all_known.high - all_known.low
    assert not all_known.warning


def test_each_row_is_predicted_before_it_is_learned():
    class Watching:
        def __init__(self):
            self.calls = []

        def scores(self, x, actions=None, task=None):
            self.calls.append(("scores", x, list(actions), task))
            return [0.25] * len(actions)

        def learn(self, x, action, reward, probability=None, task=None):
            self.calls.append(("learn", x, action, reward, probability, task))

    model = Watching()
    options = {"probabilities": [[0.5, 0.5], [0.2, 0.3, 0.5]], "actions": [["a", "b"], ["a", "b", "c"]]}
    log = ct.bandits.BanditLog([{"f": 1.0}, {"f": 2.0}], ["a", "c"], [1, 0], **options, task=["ann", "bob"])
    ct.off_policy(log, [[1.0, 0.0], [0.0, 0.0, 1.0]], predicted=model)
    assert model.calls == [
        ("scores", {"f": 1.0}, ["a", "b"], "ann"),
        ("learn", {"f": 1.0}, "a", 1.0, 0.5, "ann"),
        ("scores", {"f": 2.0}, ["a", "b", "c"], "bob"),
        ("learn", {"f": 2.0}, "c", 0.0, 0.5, "bob"),
    ]


def test_frames_lists_and_arrays_are_the_same_log():
    frame = pd.DataFrame({"hour": [1.0, 2.0, 3.0], "day": ["Mon", "Tue", None]})
    frame = frame.assign(offer=["a", "b", "a"], click=[True, False, True], user=["ann", "bob", "ann"])
    mu = pd.DataFrame({"b": [0.5, 0.4, 0.3], "a": [0.5, 0.6, 0.7]})
    records = [{"hour": 1.0, "day": "Mon"}, {"hour": 2.0, "day": "Tue"}, {"hour": 3.0, "day": None}]
    one = ct.bandits.BanditLog(frame[["hour", "day"]], frame.offer, frame.click, probabilities=mu, task=frame.user)
    options = {"probabilities": np.array([[0.5, 0.5], [0.6, 0.4], [0.7, 0.3]]), "actions": ["a", "b"]}
    other = ct.bandits.BanditLog(records, list("aba"), np.array([1, 0, 1]), **options, task=["ann", "bob", "ann"])
    assert one.x == other.x == records
    policy = pd.DataFrame({"a": [1.0, 0.5, 0.0], "b": [0.0, 0.5, 1.0]})
    first = ct.off_policy(one, policy)
    assert first == ct.off_policy(other, policy)
    for row_of in (lambda row: row, lambda row: row[["b", "a"]], pd.Series.to_dict, pd.Series.to_list):
        assert first == ct.off_policy(other, lambda x, _actions, _task, of=row_of: of(policy.loc[x["hour"] - 1]))


def test_a_bandit_is_valued_and_learns_nothing():
    rng = np.random.default_rng(8)
    n, actions = 400, ["shoes", "hats", "gloves"]
    task = rng.choice(["ann", "bob"], n).tolist()
    wanted = {"ann": "shoes", "bob": "gloves"}
    shown = rng.choice(actions, n).tolist()
    reward = [float(offer == wanted[user]) for offer, user in zip(shown, task, strict=True)]
    bandit = ct.Bandit(actions=actions)
    bandit.learn_many([{}] * 200, shown[:200], reward[:200], task=task[:200])
    log = ct.bandits.BanditLog(
        None, shown[200:], reward[200:], probabilities=np.full((200, 3), 1 / 3), actions=actions, task=task[200:]
    )
    result, by_chance = ct.off_policy(log, bandit), ct.off_policy(log, np.full((200, 3), 1 / 3))
    assert bandit.n_rewards_ == 200
    assert result.low > 0.8 > 0.45 > by_chance.high
    assert ct.off_policy(log, [bandit.probabilities({}, actions, user) for user in task[200:]]) == result


REFUSED_LOGS = {
    "needs the probability of the chosen action or the probabilities of all actions, got n": {"probabilities": None},
    "needs the probability of the chosen action or the probabilities of all actions, got": {"probability": [1] * 3},
    "the probability of the action shown: got 0.0 in row 1": {"probabilities": None, "probability": [0.5, 0.0, 1]},
    "the probability of the action shown: got 0.0 in row 0": {"probabilities": [[0, 1], [0.5, 0.5], [1, 0]]},
    "probabilities: got [-0.5, 1.5] in row 1, expected numbers between 0 and 1": {
        "probabilities": [[0.5, 0.5], [-0.5, 1.5], [1, 0]]
    },
    "the sum of probabilities: got 0.9 in row 2, expected 1": {"probabilities": [[0.5, 0.5], [0.5, 0.5], [0.9, 0]]},
    "probabilities of row 1: 3 numbers, expected one for each of 2 actions": {
        "probabilities": [[0.5, 0.5], [0.5, 0.5, 0.0], [1, 0]]
    },
    "reward: got nan in row 1, expected a finite number": {"reward": [1, None, 0]},
    "reward: expected one number per row": {"reward": ["yes", "no", "no"]},
    "reward: 2 rows, expected the 3 of the log": {"reward": [1, 0]},
    "probabilities: 2 rows, expected the 3 of the log": {"probabilities": HALVES[:2]},
    "the log is empty: expected at least one choice": {"action": [], "reward": [], "probabilities": []},
    "row 1: 'b' was chosen, but is not among its actions a, c": {"actions": ["a", "c"]},
    "actions: 'a' occurs twice; expected distinct actions": {"actions": ["a", "a"]},
    "actions of row 2: got none, expected at least one": {"actions": [["a", "b"], ["a", "b"], []]},
    "actions is missing: pass the actions in the order of the probabilities": {"actions": None},
    "probabilities: its columns are a, c, expected the actions a, b": {
        "probabilities": pd.DataFrame({"a": [0.5] * 3, "c": [0.5] * 3})
    },
}


@pytest.mark.parametrize("message", REFUSED_LOGS)
def test_logs_that_are_refused(message):
    columns = {"action": list("aba"), "reward": [1, 0, 1], "probabilities": HALVES, "actions": ["a", "b"], "x": None}
    columns |= REFUSED_LOGS[message]
    x, action, reward = (columns.pop(name) for name in ("x", "action", "reward"))
    with pytest.raises(ValueError, match=re.escape(message)):
        ct.bandits.BanditLog(x, action, reward, **columns)


REFUSED_POLICIES = {
    "the sum of the policy's probabilities: got 1.5 in row 0, expected 1": ([[1.0, 0.5]] * 3, {}),
    "the policy's probabilities: got [1.5, -0.5] in row 0": ([[1.5, -0.5]] * 3, {}),
    "the policy's probabilities of row 0: 1 number, expected one for each of 2 actions": (lambda *_: [1.0], {}),
    "the policy's probabilities of row 0: got {1.0}, expected one number for each of": (lambda *_: {1.0}, {}),
    "row 1: the policy may choose 'b', which the log chooses with probability 0": ([[1, 0], [0.9, 0.1], [1, 0]], {}),
    "predicted rewards: got nan or inf in row 1": (
        HALVES[:1] + [[1, 0]] * 2,
        {"predicted": [[0, 0], [0, math.nan], [0, 0]]},
    ),
    "level=95: expected a number between 0 and 1": ([[1, 0]] * 3, {"level": 95}),
}


@pytest.mark.parametrize("message", REFUSED_POLICIES)
def test_policies_that_are_refused(message):
    policy, arguments = REFUSED_POLICIES[message]
    mu = [[0.5, 0.5], [1.0, 0.0], [0.5, 0.5]]
    log = ct.bandits.BanditLog(None, ["a", "a", "b"], [1, 0, 1], probabilities=mu, actions=["a", "b"])
    with pytest.raises(ValueError, match=re.escape(message)):
        ct.off_policy(log, policy, **arguments)
