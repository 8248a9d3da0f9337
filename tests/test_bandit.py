"""Bandits: what they predict, choose and learn by the definition, what they refuse, and what their files hold."""

import copy
import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chisquare, norm

import coterie as ct
from coterie.bandits import Choice, exploration
from reference import bandit as literal
from reference.gob_lin import GobLin
from slow import slow
from states import content, digest, reloaded, unpickled
from test_models_altered import array, number, set_document

ACTIONS = ["shoes", "hats", "coats"]
FEATURED = [{"kind": "shoes", "price": 3.0}, {"kind": "hats", "price": 1.0}, {"kind": "coats", "new": True}]


def contexts(n, seed=0):
    """Contexts of numbers and a category, and the user of each."""
    rng = np.random.default_rng(seed)
    pages = [{"a": float(a), "b": float(b), "page": "xy"[t % 2]} for t, (a, b) in enumerate(rng.normal(size=(n, 2)))]
    return pages, [f"u{i}" for i in rng.integers(4, size=n)]


def reward_of(x, action, place):
    return math.tanh(x["a"] * (place - 1)) + 0.5 * (x["page"] == "x" and place == 2)


def run(bandit, n=300, actions=None, seed=0):
    """Choose and learn, and give the choices."""
    probabilities = []
    for x, task in zip(*contexts(n, seed), strict=True):
        choice = bandit.choose(x, actions, task)
        bandit.learn(x, choice, reward_of(x, choice.action, choice.index), choice.probability, task)
        probabilities.append(choice)
    return probabilities


def learned(*parameters, n=300, **options):
    """A bandit after so many choices."""
    bandit = ct.Bandit(*parameters, **options)
    run(bandit, n)
    return bandit


# -- by the definition -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("actions", [slow(ACTIONS), FEATURED], ids=["labels", "dictionaries"])
def test_scores_and_probabilities_are_those_of_the_definition(actions):
    model = ct.AdaptiveSharingRegressor(scale="unit")
    bandit, plain, seen = ct.Bandit(model, actions=actions), ct.AdaptiveSharingRegressor(scale="unit"), []
    for x, task in zip(*contexts(150), strict=True):
        choice = bandit.choose(x, task=task)
        scores = [plain.predict_one(literal.crossed(x, action), task) for action in actions]
        expected = literal.squarecb(scores, len(seen), literal.range_of(seen), 100.0, 0.005)
        np.testing.assert_allclose(choice.scores, scores, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(choice.probabilities, expected, rtol=1e-9)
        assert choice.action == actions[choice.index]
        assert choice.probability == choice.probabilities[choice.index]
        reward = reward_of(x, choice.action, choice.index)
        bandit.learn(x, choice.action, reward, choice.probability, task)
        plain.learn_one(literal.crossed(x, choice.action), reward, task)
        seen.append(reward)


def test_rho_is_the_range_of_two_rewards_and_no_single_reward_makes_it_long():
    rewards, clicks = np.random.default_rng(0).normal(size=300), ct.Bandit(actions=ACTIONS)
    bandit = ct.Bandit(actions=ACTIONS)
    for reward in rewards:
        bandit.learn({}, "hats", float(reward), 1.0)
        clicks.learn({}, "hats", 3.0 * (reward > 1.5), 1.0)
    assert clicks._range == pytest.approx(3.0, rel=1e-9)
    assert bandit._range == pytest.approx(2.0 * rewards.std(), rel=0.1)
    bandit.learn({}, "hats", 1e6, 1.0)
    assert bandit._range < 5.0


def test_a_classifier_predicts_the_rate_of_rewards():
    bandit = ct.Bandit(ct.AdaptiveSharingClassifier(), actions=ACTIONS, seed=1)
    for x, task in zip(*contexts(400), strict=True):
        choice = bandit.choose(x, task=task)
        assert all(0.0 <= score <= 1.0 for score in choice.scores)
        bandit.learn(x, choice, int(reward_of(x, choice.action, choice.index) > 0), task=task)
    assert bandit.scores({"a": 2.0, "b": 0.0, "page": "x"}, task="u1")[2] > 0.8
    with pytest.raises(ValueError, match="must be 0 or 1 for a classifier"):
        bandit.learn({}, "shoes", 0.5)


# -- exploring ---------------------------------------------------------------------------------------------------------


def test_probabilities_of_every_exploration_sum_to_one_and_have_their_floor():
    rng = np.random.default_rng(0)
    for K in (1, 2, 7):
        for scores in (rng.normal(size=K), np.zeros(K), np.repeat(1e6, K)):
            for p in (
                exploration.squarecb(scores, 50.0),
                exploration.greedy(scores, 0.1),
                exploration.thompson(scores, np.diag(rng.uniform(0.1, 2.0, K))),
                exploration.thompson(scores, np.outer(scores, scores) + 0.1),
                exploration.thompson(scores, np.zeros((K, K))),
            ):
                assert np.isclose(p.sum(), 1.0)
                assert p.min() >= 0.0
                assert exploration.with_floor(p, 0.3).min() >= 0.3 / K - 1e-12


def test_thompson_is_how_often_drawn_scores_are_the_largest():
    scores, deviations = np.array([0.0, 0.3, -0.5]), np.array([1.0, 0.4, 2.0])
    drawn = np.random.default_rng(1).normal(scores, deviations, size=(400_000, 3)).argmax(axis=1)
    probabilities = exploration.thompson(scores, np.diag(deviations**2))
    np.testing.assert_allclose(probabilities, np.bincount(drawn) / 400_000, atol=0.004)
    larger = norm.cdf(0.3 / math.sqrt(1.16))  # that the second of two is
    assert np.isclose(exploration.thompson(scores[:2], np.diag(deviations[:2] ** 2))[1], larger, atol=1e-4)


def test_thompson_draws_scores_with_their_covariance():
    rng = np.random.default_rng(2)
    factor, scores = rng.normal(size=(4, 2)), 0.3 * rng.normal(size=4)
    wanted = np.bincount((scores + rng.normal(size=(400_000, 2)) @ factor.T).argmax(axis=1), minlength=4) / 400_000
    np.testing.assert_allclose(exploration.thompson(scores, factor @ factor.T), wanted, atol=0.015)


@pytest.mark.parametrize("explore", ["thompson", "ucb"])
@pytest.mark.parametrize(
    "model",
    [ct.SecondOrderMultitaskRegressor(ct.Pooled()), ct.SecondOrderMultitaskRegressor(ct.Pooled(), solver="dual")],
    ids=["primal", "dual"],
)
def test_actions_of_one_feature_share_the_weight_that_is_drawn(model, explore):
    """With features f = 1, 1.0001 and -1 the largest is never the first: 1.0001 if the weight is above 0, -1 if below."""
    bandit = ct.Bandit(model, explore=explore, scale="none", floor=0.0)
    bandit.learn({}, {"f": 1.0}, 0.0)
    probabilities = bandit.probabilities({}, [{"f": 1.0}, {"f": 1.0001}, {"f": -1.0}])
    wanted = [0.0, 0.5, 0.5] if explore == "thompson" else [0.0, 1.0, 0.0]
    np.testing.assert_allclose(probabilities, wanted, atol=1e-12)


def test_what_is_drawn_has_the_probabilities_that_are_told():
    probabilities = np.array([0.5, 0.0, 0.3, 0.2])
    drawn = [exploration.drawn(probabilities, exploration.uniform(0, n)) for n in range(20_000)]
    counts = np.bincount(drawn, minlength=4)
    assert counts[1] == 0
    assert chisquare(counts[[0, 2, 3]], 20_000 * probabilities[[0, 2, 3]]).pvalue > 0.001


def test_seed_and_id_determine_what_is_drawn():
    one, same, other = (ct.Bandit(actions=list(range(50)), seed=seed) for seed in (7, 7, 8))
    assert [one.choose(id=n).action for n in range(20)] == [same.choose(id=n).action for n in reversed(range(20))][::-1]
    assert [one.choose().action for _ in range(20)] == [same.choose().action for _ in range(20)]
    assert [one.choose(id=n).action for n in range(20)] != [other.choose(id=n).action for n in range(20)]
    assert one.choose(id="a").action == one.choose(id="a").action


@pytest.mark.parametrize("explore", ["ucb", "thompson"])
def test_variances_are_needed_where_the_exploration_uses_them(explore):
    for model in (None, ct.MultitaskAROW()):  # whose variance is that of a margin, and not of the rate
        with pytest.raises(ValueError, match="requires a regressor with variances of predictions"):
            ct.Bandit(model, explore=explore, actions=ACTIONS).choose()


@pytest.mark.parametrize("pooled", [False, True], ids=["graph", "one for all"])
def test_upper_confidence_bounds_are_those_of_a_gang_of_bandits(pooled):
    """GOB.Lin by its definition, on actions with features; of one task it is LinUCB."""
    rng, users = np.random.default_rng(5), 1 if pooled else 4
    A = np.eye(4) + np.array([[1, -1, 0, 0], [-1, 2, -1, 0], [0, -1, 1, 0], [0, 0, 0, 0]]) if users == 4 else np.eye(1)
    model = ct.SecondOrderMultitaskRegressor(ct.tasks.Interaction(A, tasks=list(range(users))))
    bandit = ct.Bandit(model, explore="ucb", width=0.3, floor=0.0, scale="none")
    definition = GobLin(A, 3, 0.3)
    true = rng.normal(size=(users, 3))
    for t in range(120):
        user, vectors = int(rng.integers(users)), rng.normal(size=(5, 3))
        actions = [dict(zip("abc", vector.tolist(), strict=True)) for vector in vectors]
        best = definition.choose(user, vectors)
        if t:  # before the first reward a bandit prefers nothing
            choice = bandit.choose(actions=actions, task=user)
            assert choice.index == best
            assert choice.probability == 1.0
            np.testing.assert_allclose(choice.scores, definition.scores(user, vectors)[0], rtol=1e-9, atol=1e-12)
        reward = float(true[user] @ vectors[best] + 0.1 * rng.normal())
        definition.learn(user, vectors[best], reward)
        bandit.learn(None, actions[best], reward, task=user)


def test_thompson_sampling_explores_where_little_is_known():
    bandit = ct.Bandit(ct.SecondOrderMultitaskRegressor(ct.Pooled()), explore="thompson", floor=0.0, actions=["a", "b"])
    for _ in range(40):
        bandit.learn({}, "a", 0.5)
    mean = 0.5 * 40 / 41  # of both the weight has the variance 1 / (1 + n)
    np.testing.assert_allclose(bandit.probabilities()[1], norm.cdf(-mean / math.sqrt(1 + 1 / 41)), rtol=1e-3)


# -- many at a time, late, forgotten -----------------------------------------------------------------------------------


def test_learning_rows_at_once_is_learning_them_in_turn():
    pages, tasks = contexts(80)
    shown = [ACTIONS[t % 3] for t in range(80)]
    rewards = [reward_of(x, None, t % 3) for t, x in enumerate(pages)]
    one, many, frame = (ct.Bandit(actions=ACTIONS) for _ in range(3))
    for x, action, reward, task in zip(pages, shown, rewards, tasks, strict=True):
        one.learn(x, action, reward, 0.5, task)
    many.learn_many(pages[:30], shown[:30], rewards[:30], [0.5] * 30, tasks[:30])
    many.learn_many(pages[30:], shown[30:], rewards[30:], None, tasks[30:])
    frame.learn_many(pd.DataFrame(pages), pd.Series(shown), np.array(rewards), task=pd.Series(tasks))
    for other in (many, frame):
        np.testing.assert_array_equal(one.scores(pages[3], task="u1"), other.scores(pages[3], task="u1"))
    chosen = one.choose_many(pd.DataFrame(pages[:5]), task=tasks[:5], id=range(5))
    alone = [one.choose(x, task=task, id=n) for n, (x, task) in enumerate(zip(pages[:5], tasks[:5], strict=True))]
    assert [(*choice,) for choice in chosen] == [(*choice,) for choice in alone]
    one.learn_many(pages[:5], chosen, rewards[:5], task=tasks[:5])
    for x, choice, reward, task in zip(pages, chosen, rewards, tasks, strict=False):
        many.learn(x, choice, reward, choice.probability, task)
    np.testing.assert_array_equal(one.scores(pages[3], task="u1"), many.scores(pages[3], task="u1"))


def test_a_task_that_max_tasks_forgets_among_rows_has_left_the_range_when_it_comes_back():
    one, many = (ct.Bandit(ct.AdaptiveSharingRegressor(max_tasks=2), actions=ACTIONS) for _ in range(2))
    for tasks, rewards in (("a", [-9.0]), ("bcab", [1.0, 2.0, 3.0, 1.5])):
        for task, reward in zip(tasks, rewards, strict=True):
            one.learn({}, "hats", reward, task=task)
        many.learn_many([{}] * len(tasks), ["hats"] * len(tasks), rewards, task=list(tasks))
    assert digest(one) == digest(many)
    assert many._extremes.low == 1.5


def test_a_new_feature_of_an_action_adds_variance_unless_it_is_zero():
    bandit = ct.Bandit(ct.SecondOrderMultitaskRegressor(), "ucb")
    for n in range(20):
        bandit.learn({"hour": 1.0}, {"price": 1.0 + n % 3}, float(n % 2))
    form = bandit._inner_model.input.form
    offered = [{"price": 1.0}, {"price": 1.0, "new": 0.0}, {"price": 1.0, "new": -5.0}, {"price": 1.0, "kind": "x"}]
    unknown = form.rows_and_unseen({"hour": 1.0}, offered)[1]
    assert unknown[0] == unknown[1] == 0.0 < unknown[2] == unknown[3]


def test_a_forgotten_task_is_chosen_for_as_one_never_seen():
    bandit = learned(actions=ACTIONS)
    x = contexts(1)[0][0]
    expected = bandit.scores(x, task="nobody knows")
    assert bandit.forget_task("u1").tasks_ == sorted(bandit.tasks_, key=bandit.tasks_.index)
    assert "u1" not in bandit.tasks_
    assert bandit.scores(x, task="u1") == expected


def test_an_explanation_is_the_reward_predicted_for_the_action():
    bandit = learned(ct.MultitaskRegressor(), actions=FEATURED)
    x = {"a": 1.5, "b": -0.3, "page": "x"}
    choice = bandit.choose(x, task="u2")
    explanation = bandit.explain(x, choice, task="u2")
    assert np.isclose(explanation.margin, choice.scores[choice.index])
    parts = sum(part.part for part in explanation.parts)
    assert np.isclose(explanation.base + parts + explanation.rest, explanation.margin)
    names = {part.name for part in explanation.parts}
    assert names & {f"a^kind={FEATURED[choice.index]['kind']}", f"page=x^kind={FEATURED[choice.index]['kind']}"}


# -- files, copies -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("actions", [ACTIONS, FEATURED], ids=["labels", "dictionaries"])
@pytest.mark.parametrize("how", ["file", "pickle", "copy"])
def test_a_copy_goes_on_with_the_same_bits(tmp_path, actions, how):
    bandit = learned(n=60, actions=actions, seed=5)
    if how == "file":
        other = reloaded(bandit, tmp_path / "bandit.coterie")
    else:
        other = unpickled(bandit) if how == "pickle" else copy.deepcopy(bandit)
    for ours, theirs in zip(run(bandit, 30, seed=1), run(other, 30, seed=1), strict=True):
        assert ours.action == theirs.action
        assert ours.probabilities.tobytes() == theirs.probabilities.tobytes()
    assert content(other, tmp_path / "other.coterie") == content(bandit, tmp_path / "again.coterie")


@pytest.mark.parametrize("actions", [ACTIONS, FEATURED], ids=["labels", "dictionaries"])
def test_a_state_is_of_one_moment_whatever_is_learned_before_it_is_written(actions):
    """Snapshots of a service are written while it learns: with sizes of later actions, their checksum was wrong."""
    bandit = learned(n=30, actions=actions)
    before, state, (data, arrays) = copy.deepcopy(bandit), bandit.__getstate__(), bandit.__dump__()
    run(bandit, 10)
    untrained = ct.Bandit()
    untrained.__setstate__(state)
    restored = ct.Bandit(actions=actions).__restore__(data, arrays)
    assert digest(untrained) == digest(restored) == digest(before)


def test_extreme_rewards_of_a_forgotten_task_are_forgotten(tmp_path):
    """Nothing of them is in the range, nor in the file; those of the others are, and of a task that was not evicted."""
    bandit = ct.Bandit(actions=["a", "b"])
    for task, reward in (("ann", 1.0), ("eve", -987654.25), ("eve", 123456.75), ("bob", 3.0)):
        bandit.learn({}, "a", reward, task=task)
    bandit.learn_many([{}] * 2, ["a", "b"], [0.0, -765432.5], task=["cid", "eve"])
    copied, extremes = copy.deepcopy(bandit), (-987654.25, 123456.75)
    assert (bandit._extremes.low, bandit._extremes.high) == extremes
    bandit.forget_task("eve")
    assert bandit._range <= 3.0
    data, _ = bandit.__dump__()
    lowest, highest = [["cid", -0.0], ["ann", -1.0], ["bob", -3.0]], [["bob", 3.0], ["ann", 1.0], ["cid", 0.0]]
    assert data["extremes"] == {"lowest": lowest, "highest": highest}
    assert reloaded(bandit, tmp_path / "b.coterie")._range == bandit._range
    assert (copied._extremes.low, copied._extremes.high) == extremes
    bandit.forget_tasks(["ann", "bob", "cid"])
    assert bandit._range == 1.0
    assert reloaded(bandit, tmp_path / "b.coterie")._range == 1.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (set_document(0, "rewards"), "the range of rewards is invalid"),
        (set_document(math.inf, "extremes", "highest", 0, 1), "the range of rewards is invalid"),
        (set_document(-1, "choices"), "the number of choices is invalid: -1"),
        (lambda arrays, data: data["model"]["crossing"]["labels"].append("hats"), "an action occurs twice"),
        (number("preparation.pairs", (3, 1), 99), "a pair is not of a context and an action"),
        (array("preparation.pairs", lambda pairs: pairs[[0, 1, 2, 2, *range(4, len(pairs))]]), "not of a context"),
        (number("preparation.pairs", 0, 1), "the columns of products are not pairs"),
        (set_document(["a"], "model", "crossing", "contexts", "view", "names"), "moments has"),
    ],
)
def test_files_of_what_no_bandit_can_have_learned_are_refused(change, message):
    bandit = learned(ct.AdaptiveSharingRegressor(), n=30, actions=ACTIONS)
    data, arrays = copy.deepcopy(bandit.__dump__())
    change(arrays, data)
    with pytest.raises(ValueError, match=message):
        ct.Bandit(ct.AdaptiveSharingRegressor(), actions=ACTIONS).__restore__(data, arrays)


# -- what is refused ---------------------------------------------------------------------------------------------------

X = {"a": 1.0}
REFUSED = [
    (lambda b: b.learn(X, "hats", math.nan), "the reward must be a finite number, got nan"),
    (lambda b: b.learn(X, "hats", "much"), "the reward must be a finite number, got 'much'"),
    (lambda b: b.learn(X, "hats", 1.0, 1.5), r"the probability must lie in \(0, 1\], got 1.5"),
    (lambda b: b.learn(X, b.choose(X, task="u1", id=1), 1.0, 0.123), r"chosen with probability [\d.]+, not 0.123"),
    (lambda b: b.learn(X, "boots", 1.0), "action 'boots' is not one of actions="),
    (lambda b: b.learn(X, None, 1.0), "an action is missing: None"),
    (lambda b: b.learn([1.0], "hats", 1.0), "a context must be a dictionary of features, got list"),
    (lambda b: b.learn({"a": math.inf}, "hats", 1.0, task="u1"), "feature 'a'"),
    (lambda b: b.learn({"a": "now text"}, "hats", 1.0, task="u1"), "was a number so far"),
    (lambda b: b.choose(X, []), "there must be at least one action, got none"),
    (lambda b: b.choose(X, ["hats", "hats"]), "action 'hats' occurs twice"),
    (lambda b: b.choose(X, "hats"), "actions must be a list of labels or dictionaries, got 'hats'"),
    (lambda b: b.choose(X, ["hats", {"kind": "hats"}]), "all be labels or all be dictionaries of features, got both"),
    (lambda b: b.choose_many([X], pd.DataFrame({"hats": [1]}), task=["u1"]), "must be a list .* got a DataFrame"),
    (lambda b: b.choose_many([X, X], task="u1"), "task must have one entry per row, got a str"),
    (lambda b: b.learn_many([X], ["hats"], 1.0, task=["u1"]), "reward must have one entry per row, got a float"),
    (
        lambda b: b.learn_many([X], b.choose_many([X], task=["u1"], id=["x"]), [1.0], [0.123], task=["u1"]),
        r"the action of row 0 \(from 0\) was chosen with probability [\d.]+, not 0.123",
    ),
    (lambda b: b.learn_many([X, X], ["hats", "hats"], [1.0, math.nan], task=["u1", "u1"]), r"reward of row 1 \(from"),
    (lambda b: b.learn_many([X, {"a": math.inf}], ["hats"] * 2, [1.0, 1.0], task=["u1"] * 2), r"record 1 \(from 0\)"),
]


@pytest.mark.parametrize(("call", "message"), REFUSED, ids=range(len(REFUSED)))
def test_bad_calls_are_refused_and_change_nothing(call, message):
    bandit = learned(n=30, actions=ACTIONS)
    before = copy.deepcopy(bandit)
    with pytest.raises((ValueError, TypeError), match=message):
        call(bandit)
    assert bandit.n_rewards_ == before.n_rewards_
    assert bandit._range == before._range
    assert digest(bandit) == digest(before)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ct.Bandit(), "there are no actions; pass them to each call"),
        (lambda: ct.Bandit(explore="boldly", actions=ACTIONS), "explore must be 'squarecb'"),
        (lambda: ct.Bandit(floor=1.5, actions=ACTIONS), "floor must lie between 0 and 1"),
        (lambda: ct.Bandit(reward_range=(1, 0), actions=ACTIONS), "reward_range must be two finite numbers"),
        (lambda: ct.Bandit(ct.OneVsRest(), actions=ACTIONS), "must be an online estimator of records|of two classes"),
        (lambda: ct.Bandit(ct.MultitaskPerceptron(), actions=ACTIONS), "needs probabilities of two classes"),
        (lambda: ct.Bandit(ct.MultitaskRegressor(task_column="u"), actions=ACTIONS), "task_column is not supported"),
        (lambda: ct.Bandit(actions=["a", "a"]), "action 'a' occurs twice"),
    ],
)
def test_bad_parameters_are_refused_at_the_first_choice(make, message):
    with pytest.raises((ValueError, TypeError), match=message):
        make().choose({"a": 1.0})


def test_what_contradicts_the_actions_so_far_or_the_range_is_refused():
    bandit = ct.Bandit(reward_range=(0, 1))
    bandit.learn(X, "hats", 1.0)
    with pytest.raises(ValueError, match="actions so far were labels, but these are dictionaries of features"):
        bandit.learn(X, {"kind": "hats"}, 1.0)
    with pytest.raises(ValueError, match="but these are dictionaries of features"):
        bandit.choose(X, [{"kind": "hats"}])
    with pytest.raises(ValueError, match="must lie within reward_range"):
        bandit.learn(X, "hats", 2.0)


def test_a_choice_unpacks_to_its_action_and_probability():
    action, probability = choice = ct.Bandit(actions=["only"]).choose()
    assert (action, probability) == ("only", 1.0)
    assert isinstance(choice, Choice)
