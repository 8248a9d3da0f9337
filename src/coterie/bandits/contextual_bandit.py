"""Contextual bandits for many tasks: choose an action for a task, and learn from its reward."""

from __future__ import annotations

import copy
import math
from collections.abc import Hashable, Iterator, Mapping, Sequence, Set
from dataclasses import KW_ONLY, dataclass, field
from decimal import Decimal
from os import PathLike
from threading import RLock
from typing import Any, Literal, NamedTuple, Self

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from coterie import persistence, spec
from coterie._compiled.core.checks import require
from coterie._compiled.core.moments import FAR, scale_of
from coterie._compiled.core.records import Csr
from coterie._compiled.trees import Arrays
from coterie.data import tabular
from coterie.data.feature_keys import is_missing
from coterie.data.input import Input, Records
from coterie.estimators.adaptive_regression import AdaptiveSharingRegressor
from coterie.estimators.delayed_labels import is_like
from coterie.estimators.estimator import OnlineEstimator
from coterie.estimators.online_model import OnlineModel
from coterie.estimators.parameter_fields import SCALE
from coterie.estimators.predictions import ModelPredictions
from coterie.evaluation.explanation import Explanation
from coterie.models.contract import Predictions, zero_predictions
from coterie.parameters import Parameters
from coterie.settings import check_fields
from coterie.types import AnyLabels, AnyRecords, AnyTasks, Array, Estimator, Floats, Json, Label, Labels, Record, Tasks

from . import exploration
from .crossed_input import Action, CrossedFastPath, CrossedInput, Taken, with_unseen
from .extremes import Extremes


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """A bandit's decision; it unpacks to the action and its probability.

    Attributes
    ----------
    action : label or mapping
        The action to show.
    probability : float
        The probability of the choice; off-policy evaluation needs it in the log.
    index : int
        The action's place among those offered.
    probabilities, scores : ndarray, shape (K,)
        The probability of each action offered, and the reward predicted for it.
    predictions : Predictions or None
        The predictions of an ensemble's members for the action; None for models without members, and before the first
        reward. :meth:`Bandit.learn` judges the members by them.
    n_rewards : int
        The number of rewards learned before the choice.
    """

    action: Any
    probability: float
    index: int
    probabilities: Floats
    scores: Floats
    predictions: Predictions | None = field(default=None, repr=False)
    n_rewards: int = field(default=0, repr=False)

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the action and its probability."""
        yield self.action
        yield self.probability


#: How to explore by the variances of predictions.
_BY_VARIANCE = ("ucb", "thompson")


#: A context, the action shown or its choice, the reward, its probability, and the task.
_Shown = tuple[Label, Label, Label, Label, Label]


class _Saved(msgspec.Struct, forbid_unknown_fields=True):
    """The saved data of a bandit, without its model."""

    rewards: int
    extremes: Extremes
    choices: int
    model: Json


class _Offered(NamedTuple):
    """The validated actions of a decision; ``featured`` is True for actions that are dictionaries of features."""

    actions: list[Action]
    featured: bool
    labels: frozenset[Hashable]


@spec.estimator
class Bandit(Parameters):
    r"""A contextual bandit: choose one of several actions for a task, and learn from its reward.

    A record of the model below is a context x, such as a user's page, with an action a: all products of the features of
    x, and of a constant, with those of a. The model predicts the reward of each action, ŷ_a, and learns that of the one
    that was shown; tasks, such as users, share as the model lets them share. By default actions are drawn by SquareCB,

        p_a = 1 / (K + γ √n (ŷ* - ŷ_a) / ρ)    for all but the best of K actions, which gets the rest,

    n being the number of rewards learned from all tasks and ρ = s (a + b) / √(a b), where s is the deviation of rewards
    and a and b are the distances of the least and the largest from their mean, at most 12 s: the range of two rewards,
    and less than it if few are near its ends. So actions with worse predictions are shown less often the more rewards
    are known, but always with some probability: p ← (1 - floor) p + floor / K. Before the first reward all actions have
    the same probability.

    Parameters
    ----------
    model : estimator, optional
        An online regressor with a weight for each feature, or a classifier with probabilities for rewards of 0 and 1.
        By default ``AdaptiveSharingRegressor()``.
    explore : {"squarecb", "epsilon", "greedy", "ucb", "thompson"}
        The strategy: SquareCB; the best action, but with probability ``epsilon`` any action; the best action; the
        largest ŷ_a + width · σ_a √ln(n + 2); Thompson sampling of the weights, with their deviations multiplied by
        ``width``. The last two need a model with ``margin_variance``, the variance σ_a² of a prediction, such as
        :class:`SecondOrderMultitaskRegressor`.
    actions : sequence, optional
        The actions, if these are always the same: labels, or dictionaries of features.
    gamma : float > 0
        The γ of SquareCB: a larger one explores less.
    floor : float, 0 <= floor <= 1
        The probability that all actions share equally, whatever the predictions. A log without a floor says nothing
        about a policy that would have chosen other actions.
    epsilon, width : float
        See ``explore``.
    scale : {"none", "standard", "unit", "auto"}, optional
        "standard" converts numbers to z-scores before the products, "unit" scales records to unit length after them,
        "auto" does both. By default the model's ``scale``, or "auto" if the model has none.
    reward_range : (low, high), optional
        The smallest and the largest possible reward; others raise an error. By default those seen so far.
    seed : int
        The seed of the random choices, together with the id or the number of a choice.

    Attributes
    ----------
    model_ : estimator
        The model that has learned: ``model_.coef_``, ``model_.largest_weights`` and others are of the products.
    n_rewards_ : int
        The number of rewards learned.
    tasks_ : list
        The tasks known, in order of first appearance.

    Notes
    -----
    A choice costs O(K nnz) and K predictions of the model; learning costs one update of the model. The regression is
    not weighted by 1 / p. Choices without a context have ``x = {}``. Threads may share a bandit. It maximises the
    present reward only, not later ones that depend on the choice. In "ucb" and "thompson" features of an action that
    no learned record had count with their prior variance, so new actions are tried; in "thompson" they count as
    independent between actions, also if several actions have them.

    References
    ----------
    D. Foster and A. Rakhlin, "Beyond UCB: optimal and efficient contextual bandits with regression oracles" (2020),
    algorithm 1; N. Abe and P. Long, "Associative reinforcement learning using linear probabilistic concepts" (1999);
    N. Cesa-Bianchi, C. Gentile and G. Zappella, "A gang of bandits" (2013), whose GOB.Lin is ``explore="ucb"`` with
    ``SecondOrderMultitaskRegressor(TaskGraph(edges))``, ``scale="none"`` and ``floor=0`` from the second round on.

    Examples
    --------
    >>> import coterie as ct
    >>> bandit = ct.Bandit(actions=["shoes", "hats"])
    >>> for n in range(200):
    ...     user = ["ann", "bob"][n % 2]
    ...     action, probability = bandit.choose({"hour": n % 24}, task=user)
    ...     bandit.learn({"hour": n % 24}, action, 1.0 if action == "hats" else 0.0, probability, task=user)
    >>> choice = bandit.choose({"hour": 5}, task="eve")
    >>> choice.action, bool(choice.probability > 0.9)
    ('hats', True)
    """

    _learned = "n_rewards_"
    _learning = "learn or learn_many"
    _kind = "regressor"
    _learns_streams = False

    model: Estimator = None
    explore: Literal["squarecb", "epsilon", "greedy", "ucb", "thompson"] = spec.field(
        default="squarecb", choices=("squarecb", "epsilon", "greedy", "ucb", "thompson")
    )
    _: KW_ONLY
    actions: Sequence[Action] | None = None
    gamma: float = spec.field(default=100.0, above=0)
    floor: float = spec.field(default=0.005, at_least=0, at_most=1)
    epsilon: float = spec.field(default=0.05, at_least=0, at_most=1)
    width: float = spec.field(default=1.0, at_least=0)
    scale: Literal["none", "standard", "unit", "auto"] | None = spec.field(SCALE, default=None)
    reward_range: Sequence[float] | None = None
    seed: int = spec.field(default=0, kind="whole")

    def __new__(cls, *args: object, **kwargs: object) -> Self:
        """Create an unfitted instance."""
        bandit = super().__new__(cls)
        bandit._begin()
        return bandit

    def _begin(self) -> None:
        self.lock = RLock()
        self._choices, self._extremes = 0, Extremes()
        self._checked: tuple[object, ...] = ()
        self._offered: tuple[Any, _Offered] | None = None

    def __getstate__(self) -> Json:
        """Return a consistent state without the lock, for copies and :mod:`pickle`."""
        with self.lock:
            state = {name: value for name, value in self.__dict__.items() if name not in ("lock", "_offered")}
            state["_extremes"] = copy.deepcopy(self._extremes)
            return state | ({"model_": copy.deepcopy(self.model_)} if "model_" in state else {})

    def __setstate__(self, state: Json) -> None:
        self._begin()
        self.__dict__.update(state)

    # -- the model ------------------------------------------------------------------------------------------------

    @property
    def _within(self) -> Estimator:
        """The estimator that the user passed as ``model``, or the default one."""
        return AdaptiveSharingRegressor() if self.model is None else self.model

    def __baselines__(self) -> dict[str, Bandit]:
        """Return the bandit with each baseline of its model instead of its model, by name."""
        parameters = self.get_params(deep=False)
        return {name: Bandit(**(parameters | {"model": model})) for name, model in self._within.__baselines__().items()}

    def _check(self) -> OnlineEstimator:
        """Return the model of the bandit; raise TypeError or ValueError for invalid parameters."""
        check_fields(self)
        spec.require_instance("model", self.model)
        model = self._within
        if not isinstance(model, OnlineEstimator) or type(model._make_input()) is not Input:
            raise TypeError(f"model must be an online estimator of records with one vector each, got {model!r}")
        if model._kind == "classifier" and (model._many_classes or not hasattr(model, "predict_proba")):
            raise TypeError(f"a bandit's classifier needs probabilities of two classes, got {model!r}")
        for name, value in (("task_column", model.task_column), ("class_weight", model.class_weight)):
            if value is not None:
                raise ValueError(f"{name} is not supported in a bandit; leave it out of {model!r}")
        knows = model._kind == "regressor" and model._make_learner().traits.has_variances
        if self.explore in _BY_VARIANCE and not knows:
            raise ValueError(
                f"explore={self.explore!r} requires a regressor with variances of predictions, got {model!r}"
            )
        if self.reward_range is not None:
            ends = list(self.reward_range) if hasattr(self.reward_range, "__iter__") else []
            finite = len(ends) == 2 and all(_is_number(end) and math.isfinite(end) for end in ends)
            if not (finite and ends[0] < ends[1]):
                raise ValueError(
                    f"reward_range must be two finite numbers, the lower one first, got {self.reward_range!r}"
                )
        return model

    @property
    def _inner_model(self) -> OnlineModel:
        """The inner model of the estimator, with the current parameters."""
        estimator, values = self.__dict__.get("model_"), self._parameter_getter()(self)
        if estimator is None:
            estimator = self.model_ = self._check().__sklearn_clone__()
            estimator._inner = OnlineModel(CrossedInput(self._scale))
        elif any(now is not before for now, before in zip(values, self._checked, strict=True)):
            within = self._check()
            if type(estimator) is not type(within):
                raise TypeError(f"{estimator!r} has learned already; make a new bandit for {within!r}")
            source: Any = estimator._inner.input
            if source.scale != self._scale:
                raise ValueError("scale cannot change after the first update; make another bandit")
            changed = {n: p for n, p in within.get_params(deep=False).items() if p is not getattr(estimator, n)}
            estimator.set_params(**changed)
        self._checked = values
        return estimator._model

    @property
    def _scale(self) -> str:
        """The scaling of the records that the model learns."""
        return self.scale or getattr(self.model, "scale", None) or "auto"

    @property
    def _rates(self) -> bool:
        """True if the model is a classifier, which predicts the probability of reward 1."""
        return self.model is not None and self.model._kind == "classifier"

    # -- choosing -------------------------------------------------------------------------------------------------

    def choose(
        self,
        x: Record | None = None,
        actions: Sequence[Action] | None = None,
        task: Hashable = None,
        *,
        id: Hashable = None,  # noqa: A002 - what services and logs call it
    ) -> Choice:
        """Choose one of the actions; the bandit is not changed.

        Parameters
        ----------
        x : mapping, optional
            The context: a dictionary of features.
        actions : sequence, optional
            The actions offered now: labels, or dictionaries of features; by default the bandit's ``actions``.
        task : label, optional
            The task, such as a user.
        id : label, optional
            The id of the choice; choices with equal ids have equal random numbers. By default choices are numbered.

        Returns
        -------
        Choice

        Raises
        ------
        ValueError
            If there are no actions, or equal ones, or both labels and dictionaries; for a label that is not in
            ``actions`` of the constructor; for invalid features, or a predicted reward that is not finite.
        """
        with self.lock:
            offered = self._checked_actions(actions)
            probabilities, scores, predictions = self._weighed({} if x is None else x, offered, task)
            if id is None:
                self._choices += 1
            at = exploration.uniform(self.seed, ("", self._choices) if id is None else id)
            place = exploration.drawn(probabilities, at)
            chosen = None if predictions is None else predictions.cut(place, place + 1)
            n_rewards = self.__dict__.get("n_rewards_", 0)
            action, probability = offered.actions[place], float(probabilities[place])
            return Choice(action, probability, place, probabilities, scores, chosen, n_rewards)

    def choose_many(
        self,
        X: AnyRecords,
        actions: Sequence[Action] | Sequence[Sequence[Action]] | None = None,
        task: AnyTasks = None,
        *,
        id: Tasks | None = None,  # noqa: A002
    ) -> list[Choice]:
        """Choose for each row of a frame, array or list of dictionaries; ``task`` and ``id`` have one label per row.

        ``actions`` are the same for all rows, or a list with one list per row.
        """
        contexts = contexts_of(X)
        n = len(contexts)
        tasks, ids = _column("task", task, n), _column("id", id, n)
        offers = _offers(actions, n)
        with self.lock:
            before = self._choices
            try:
                return [self.choose(x, a, t, id=i) for x, a, t, i in zip(contexts, offers, tasks, ids, strict=True)]
            except BaseException:
                self._choices = before
                raise

    def probabilities(
        self, x: Record | None = None, actions: Sequence[Action] | None = None, task: Hashable = None
    ) -> list[float]:
        """Return the probability of each action, without a random choice. See :meth:`choose`."""
        with self.lock:
            return list(map(float, self._weighed({} if x is None else x, self._checked_actions(actions), task)[0]))

    def scores(
        self, x: Record | None = None, actions: Sequence[Action] | None = None, task: Hashable = None
    ) -> list[float]:
        """Predict the reward of each action; 0.0 before the first update. See :meth:`choose`."""
        with self.lock:
            return list(map(float, self._predicted({} if x is None else x, self._checked_actions(actions), task)[0]))

    def _weighed(self, x: Record, offered: _Offered, task: Hashable) -> tuple[Floats, Floats, Predictions | None]:
        """Return the probabilities and predicted rewards of the offered actions, and ensemble members' predictions."""
        scores, covariance, predictions = self._predicted(x, offered, task)
        K, n = len(offered.actions), self.__dict__.get("n_rewards_", 0)
        # before the first reward there are no scores, no range and no variances to explore by
        if not n:
            return np.full(K, 1.0 / K), scores, predictions
        if not np.isfinite(scores).all():
            raise ValueError(f"a predicted reward is not finite: {scores.tolist()}")
        if self.explore == "squarecb":
            # scores are divided by the range of rewards, so that γ does not depend on their unit
            weights = exploration.squarecb(scores, self.gamma * math.sqrt(n) / self._range)
        elif self.explore == "ucb":
            deviations = np.sqrt(np.diag(covariance))
            weights = exploration.greedy(scores + self.width * math.sqrt(math.log(n + 2.0)) * deviations)
        elif self.explore == "thompson":
            weights = exploration.thompson(scores, self.width**2 * covariance)
        else:
            weights = exploration.greedy(scores, self.epsilon if self.explore == "epsilon" else 0.0)
        return exploration.with_floor(weights, self.floor), scores, predictions

    @property
    def _range(self) -> float:
        """Return the range ρ of rewards, by which SquareCB scales its exploration; 1 while all rewards are equal."""
        low, high = (self._extremes.low, self._extremes.high) if self.reward_range is None else self.reward_range
        spread = float(high - low) if high > low else 1.0
        if self._rates or not high > low:
            return spread
        # for rewards of two values s = √(a b), so ρ is their range; rare extremes make s small and a b large
        mean, deviation = scale_of(self.model_._model.label_encoder.inside)
        # one wild reward must not stop exploration from narrowing
        below, above = (min(end, FAR * deviation) for end in (mean - low, high - mean))
        if min(below, above) <= 0.0:
            return spread
        return min(spread, float(deviation * (below + above) / math.sqrt(below * above)))

    def _predicted(self, x: Record, offered: _Offered, task: Hashable) -> tuple[Floats, Floats, Predictions | None]:
        """Predict the reward of each offered action.

        Also return the predictions of ensemble members and, if needed, the covariance.
        """
        model, K = self._inner_model, len(offered.actions)
        with model.lock:
            source: Any = model.input
            if not isinstance(x, Mapping):
                raise TypeError(f"a context must be a dictionary of features, got {type(x).__name__}")
            _, task = source.split_one(x, task, model.population.tasks if model.fitted else ())
            if not model.fitted:
                source.form.contexts.read_one(x, False)  # refused now as later
                return np.zeros(K), np.zeros((K, K)), None
            known, unseen = source.form.rows_and_unseen(x, offered.actions)
            rows = with_unseen(known, unseen) if model.learner.traits.counts_unseen and unseen.any() else known
            predicted = self._predictions(model, rows, task)
            if self.explore not in _BY_VARIANCE:
                predictions = predicted.predictions if model.learner.traits.mixes else None
                margins = None if predictions is None or self._rates else predicted.decode(predictions.margins)
                return self._rewards(model, predicted) if margins is None else margins, np.zeros((K, K)), predictions
            covariance = np.diag(np.maximum(predicted.variances, 0.0))
            if self.explore == "thompson":  # the weights of features that no record had are independent of all others
                pairs = np.triu_indices(K, 1)
                own = np.maximum(self._predictions(model, known, task).variances, 0.0)
                variances = self._predictions(model, _differences(known, *pairs), task).variances
                # cov(a, b) = (var a + var b - var(a - b)) / 2: the model knows variances of margins only
                covariance[pairs] = (own[pairs[0]] + own[pairs[1]] - variances) / 2.0
                covariance += np.triu(covariance, 1).T
            predictions = predicted.predictions if model.learner.traits.mixes else None
            return predicted.margins, model.label_encoder.factor**2 * covariance, predictions

    @staticmethod
    def _predictions(model: OnlineModel, rows: Csr, task: Hashable) -> ModelPredictions:
        return ModelPredictions(model, Records(rows, model.state.features, _repeated(task, rows.n_records)))

    def _rewards(self, model: OnlineModel, predicted: ModelPredictions) -> Floats:
        """Convert predictions of the model to rewards; those of a classifier are probabilities of reward 1."""
        return (
            predicted.probabilities[:, list(model.label_encoder.ordered).index(1)] if self._rates else predicted.margins
        )

    def predict_members(self, x: Record, action: Action, task: Hashable = None) -> Predictions | None:
        """Return the ensemble members' predictions for one action, as in :attr:`Choice.predictions`."""
        with self.lock:
            return self._predicted(x, _checked([action]), task)[2]

    # -- learning -------------------------------------------------------------------------------------------------

    def learn(
        self, x: Record | None, action: Any, reward: float, probability: float | None = None, task: Hashable = None
    ) -> None:
        """Learn the reward of a chosen action; rewards may arrive in any order, or never.

        Parameters
        ----------
        x : mapping or None
            The context of the choice.
        action : label, mapping or Choice
            The action shown, or the :class:`Choice`. A choice contains the predictions of an ensemble's members, which
            determine their losses even if other rewards were learned since then. For an action, their current
            predictions do.
        reward : float
            The reward; 0 or 1 if the model is a classifier.
        probability : float, optional
            The probability of the choice; it is checked, and does not change the update.
        task : label, optional
            The task of the choice.

        Raises
        ------
        ValueError
            For a reward that is not finite, or out of ``reward_range``; a probability outside (0, 1], or other than
            that of the choice; a label that is not in ``actions``. The bandit is then unchanged.
        """
        self._learn([({} if x is None else x, action, reward, probability, task)], one=True)

    def learn_many(
        self,
        X: AnyRecords,
        action: Sequence[Action | Choice] | Labels,
        reward: Labels,
        probability: ArrayLike | None = None,
        task: AnyTasks = None,
    ) -> None:
        """Learn the rewards of many choices in order, or none if one is invalid.

        ``action``, ``reward``, ``probability`` and ``task`` have one entry per row; see :meth:`learn`. ``action`` may
        contain the choices that :meth:`choose_many` returned.
        """
        contexts = contexts_of(X)
        n = len(contexts)
        columns = [_column(name, column, n) for name, column in (("action", action), ("reward", reward))]
        columns += [_column(name, column, n) for name, column in (("probability", probability), ("task", task))]
        self._learn(list(zip(contexts, *columns, strict=True)), one=False)

    def _learn(self, shown: list[_Shown], one: bool) -> None:
        with self.lock:
            model = self._inner_model
            records, rewards = [], []
            for t, (x, action, reward, probability, _) in enumerate(shown):
                where = "" if one else f" of row {t} (from 0)"
                if probability is not None and not (_is_number(probability) and 0.0 < probability <= 1.0):
                    raise ValueError(f"the probability{where} must lie in (0, 1], got {probability!r}")
                rewards.append(self._reward(reward, where))
                if isinstance(action, Choice) and probability not in (None, action.probability):
                    what = "it" if one else f"the action{where}"
                    raise ValueError(f"{what} was chosen with probability {action.probability!r}, not {probability!r}")
                action = self._known_action(action_of(action))
                if not isinstance(x, Mapping):
                    raise TypeError(f"a context must be a dictionary of features, got {type(x).__name__}")
                records.append(Taken(x, action))
            if not shown:
                return
            labels: list[Label] = [int(row) for row in rewards] if self._rates else rewards
            recent = self._recent_tasks() if len(shown) > 1 else ()
            # members' losses are those of their predictions when the action was chosen, not of their present ones
            predictions = self._predictions_before(model, [row[1] for row in shown])
            if one and model.fitted and predictions is None:
                model.learn_one(records[0], labels[0], shown[0][4])
                if model.fast_path is None and model.population.recency is None:
                    source: Any = model.input
                    model.fast_path = CrossedFastPath(model.population, source.form)
            else:
                tasks = [row[4] for row in shown]
                named = None if all(task is None for task in tasks) else tasks
                classes = [0, 1] if self._rates else None
                model.learn(records, labels, named, classes=classes, predictions=predictions)
            self.n_rewards_ = self.__dict__.get("n_rewards_", 0) + len(shown)
            whose = [tabular.ONLY_TASK if row[4] is None else row[4] for row in shown]
            self._add_extremes(recent, whose, rewards)

    def _recent_tasks(self) -> list[Hashable]:
        """Return the known tasks under ``max_tasks``, the least recently rewarded first; else no tasks."""
        population = self._inner_model.population
        order = () if population.recency is None else population.recency.order.tolist()
        return [population.tasks.labels[number] for number in order]

    def _add_extremes(self, known: Sequence[Hashable], tasks: Sequence[Hashable], rewards: Sequence[float]) -> None:
        """Add the rewards of ``tasks`` to the range, without those of tasks that ``max_tasks`` forgot in between.

        ``known`` are the tasks before, the least recently rewarded first; not needed for a single reward.
        """
        population, recent = self._inner_model.population, dict.fromkeys(known)
        for task, reward in zip(tasks, rewards, strict=True):
            recent[task] = recent.pop(task, None)
            if population.max_tasks is not None and len(recent) > population.max_tasks:
                del recent[next(iter(recent))]
                self._extremes.keep(recent)
            self._extremes.add(task, reward)
        if population.recency is not None:  # now, not when it is saved: a restart changes no choice
            self._extremes.keep(population.tasks.numbers)

    def _predictions_before(self, model: OnlineModel, actions: Sequence[Action | Choice]) -> Predictions | None:
        """Return the predictions stored in choices if the model has learned since they were made; else None."""
        learned = self.__dict__.get("n_rewards_", 0)
        late = [
            action.predictions if isinstance(action, Choice) and action.n_rewards != learned + t else None
            for t, action in enumerate(actions)
        ]
        like = None if all(predictions is None for predictions in late) else model.predict_nothing()
        if like is None:
            return None
        return Predictions.concatenate(
            [
                predictions if predictions is not None and is_like(predictions, like) else zero_predictions(like, 1)
                for predictions in late
            ]
        )

    def _reward(self, reward: Label, where: str) -> float:
        """Convert a reward to a float; raise ValueError unless it is finite and in range.

        ``where`` names its row in the message.
        """
        if not _is_number(reward) or not math.isfinite(reward):
            raise ValueError(f"the reward{where} must be a finite number, got {reward!r}")
        if self._rates and reward not in (0, 1):
            raise ValueError(f"the reward{where} must be 0 or 1 for a classifier, got {reward!r}")
        if self.reward_range is not None and not self.reward_range[0] <= reward <= self.reward_range[1]:
            raise ValueError(f"the reward{where} must lie within reward_range={self.reward_range!r}, got {reward!r}")
        return float(reward)

    # -- actions --------------------------------------------------------------------------------------------------

    def _checked_actions(self, actions: AnyLabels) -> _Offered:
        """Validate the offered actions; raise ValueError for duplicates, no actions, or unknown ones."""
        if actions is None:
            if self.actions is None:
                raise ValueError("there are no actions; pass them to each call or as the bandit's parameter")
            require_list(self.actions)
            own = list(self.actions)
            if self._offered is None or self._offered[0] != own:
                self._offered = own, _checked(own)
            return self._offered[1]
        offered = _checked(actions)
        if self.actions is not None:
            for action in offered.actions:
                self._known_action(action)
        return offered

    def _known_action(self, value: Label) -> Action:
        """Convert an action to its form among the parameter ``actions``; raise ValueError if it is not one of these."""
        action = _action(value)
        if self.actions is not None:
            known = self._checked_actions(None)
            featured = isinstance(action, Mapping)
            if featured != known.featured or not (featured or action in known.labels):
                raise ValueError(f"action {action!r} is not one of actions={list(self.actions)!r}")
        return action

    # -- the fitted model ---------------------------------------------------------------------------------------------

    def explain(self, x: Any, action: Any, task: Hashable = None) -> Explanation:
        """Explain the predicted reward of an action or of a :class:`Choice`, as a sum over products.

        For a classifier this is the log-odds of reward 1.
        """
        self._check_fitted()
        action = self._known_action(action_of(action))
        with self.lock:
            record = Taken({} if x is None else x, action)
            explanation = self._estimator.explain(record, task)
            assert isinstance(explanation, Explanation)  # noqa: S101 - of one number, or two classes
            return explanation

    @property
    def _estimator(self) -> OnlineEstimator:
        """The estimator that learns, with the current parameters."""
        self._inner_model  # noqa: B018 - brings it there
        return self.model_

    @property
    def tasks_(self) -> list[Hashable]:
        """The known tasks, in order of first appearance."""
        self._check_fitted()
        return self._estimator.tasks_

    def forget_task(self, task: Hashable) -> Self:
        """Forget a task: its name and own weights; shared weights are unchanged."""
        return self.forget_tasks([task])

    def forget_tasks(self, tasks: Sequence[Hashable]) -> Self:
        """Forget several tasks, or none if one of them cannot be forgotten; see :meth:`forget_task`.

        Their extreme rewards are dropped too. Sums over all tasks stay: the moments of features, and the number of
        rewards.
        """
        self._check_fitted()
        with self.lock:
            self._estimator.forget_tasks(tasks)
            self._extremes.keep(self._inner_model.population.tasks.numbers)
        return self

    # -- files ----------------------------------------------------------------------------------------------------

    def save(self, path: str | PathLike[str]) -> None:
        """Save the bandit to one file atomically; :func:`coterie.load` restores it exactly."""
        persistence.save(self, path, self.lock)

    def __dump__(self) -> tuple[Json, Arrays]:
        """Return the state as JSON data and named arrays."""
        if not self._fitted:
            return ({"choices": self._choices} if self._choices else {}), {}
        data, arrays = self._inner_model.dump()
        ends = msgspec.structs.asdict(copy.deepcopy(self._extremes))
        own = {"rewards": self.n_rewards_, "extremes": ends, "choices": self._choices}
        return own | {"model": data}, arrays

    def __restore__(self, data: Json, arrays: Arrays) -> Self:
        """Restore the state from the result of :meth:`__dump__`; raise ValueError if it contradicts the parameters."""
        choices = data.get("choices", 0)
        require(type(choices) is int and choices >= 0, f"the number of choices is invalid: {choices!r}")
        self._choices = choices
        if "model" in data:
            content = msgspec.convert(data, _Saved)
            self._inner_model.restore(content.model, arrays)
            for pairs in (content.extremes.lowest, content.extremes.highest):
                tasks = spec.labels_of([pair[0] for pair in pairs])
                pairs[:] = [[task, float(pair[1])] for task, pair in zip(tasks, pairs, strict=True)]
            low, high = content.extremes.low, content.extremes.high
            require(content.rewards > 0 and (low <= high < math.inf or low > high), "the range of rewards is invalid")
            self.n_rewards_, self._extremes = content.rewards, content.extremes
        return self


# -- what users give --------------------------------------------------------------------------------------------------


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float, Decimal, np.floating, np.integer, np.bool_))


def action_of(value: Label) -> Label:
    """Return the action of a :class:`Choice`; return any other value unchanged."""
    return value.action if isinstance(value, Choice) else value


def require_list(actions: AnyLabels) -> None:
    """Raise TypeError for actions that are not a sequence."""
    if (
        isinstance(actions, (str, bytes, Mapping, Set))
        or hasattr(actions, "columns")
        or not hasattr(actions, "__iter__")
    ):
        shown = f"a {type(actions).__name__}" if hasattr(actions, "columns") else repr(actions)
        raise TypeError(f"actions must be a list of labels or dictionaries, got {shown}")


def _action(value: Label) -> Action:
    """Convert an action to a mapping, or to a label of a Python type; raise an error for other values."""
    if type(value) is str or isinstance(value, Mapping):
        return value
    if isinstance(value, np.generic):
        value = value.item()
    if is_missing(value):
        raise ValueError(f"an action is missing: {value!r}")
    spec.check_labels([value], "action")
    label: Hashable = value
    return label


def _checked(values: AnyLabels) -> _Offered:
    """Return a list of actions; raise ValueError if it is empty, or has duplicates."""
    require_list(values)
    actions = [_action(value) for value in values]
    if not actions:
        raise ValueError("there must be at least one action, got none")
    featured = isinstance(actions[0], Mapping)
    if any(isinstance(value, Mapping) != featured for value in actions):
        raise ValueError("actions must all be labels or all be dictionaries of features, got both")
    twice = _twice(actions)
    if twice is not None:
        raise ValueError(f"action {twice!r} occurs twice")
    return _Offered(actions, featured, frozenset(() if featured else actions))


def _twice(actions: list[Any]) -> Any:
    """Return an action that occurs twice in a list; None if there is none."""
    keys: list[Any] = actions
    if isinstance(actions[0], Mapping):
        try:
            keys = [frozenset(features.items()) for features in actions]
            len(set(keys))
        except TypeError:  # lists among the features
            keys = [repr(sorted(features.items(), key=repr)) for features in actions]
    if len(set(keys)) == len(keys):
        return None
    return next(action for place, action in enumerate(actions) if keys[place] in keys[:place])


def _differences(rows: Csr, first: NDArray[np.intp], second: NDArray[np.intp]) -> Csr:
    """Return the differences of the rows ``first`` and ``second``. Variances of their margins give covariances."""
    from scipy.sparse import csr_array

    width = int(rows.features.max(initial=0)) + 1
    X = csr_array((rows.values, rows.features, rows.starts), shape=(rows.n_records, width))
    differences = csr_array(X[first] - X[second])
    return Csr(differences.data, differences.indices.astype(np.int32), differences.indptr.astype(np.int64))


def _repeated(task: Hashable, n: int) -> Array:
    tasks = np.empty(n, object)
    tasks.fill(task)
    return tasks


def contexts_of(X: AnyRecords) -> list[Record]:
    """Convert a frame, an array or a list of dictionaries to a list of contexts, one per row."""
    if tabular.is_frame(X):
        return list(tabular.frame_records(X, True))
    if hasattr(X, "columns"):
        return []
    if hasattr(X, "ndim") and X.ndim == 2:
        rows = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
        return [{f"x{j}": value for j, value in enumerate(row)} for row in rows.tolist()]
    if isinstance(X, (str, Mapping)) or not hasattr(X, "__iter__"):
        raise TypeError(f"contexts must be a frame, an array or a list of dictionaries, got {type(X).__name__}")
    return [{} if context is None else context for context in X]


def _column(name: str, values: AnyLabels, n: int) -> list[Label]:
    """Return ``values`` as a list of n entries; raise an error, with the ``name`` of the argument, for others."""
    if values is None:
        return [None] * n
    if isinstance(values, (str, bytes, Mapping)) or hasattr(values, "columns") or not hasattr(values, "__iter__"):
        raise TypeError(f"{name} must have one entry per row, got a {type(values).__name__}")
    entries = list(values.to_pylist() if hasattr(values, "to_pylist") else values)
    if len(entries) != n:
        raise ValueError(f"{name} must have one entry per row: got {len(entries)} for {n} rows")
    return entries


def _offers(actions: AnyLabels, n: int) -> list[Sequence[Action] | None]:
    """Return the actions offered in each of n rows, given one list for all rows or one list per row."""
    if actions is not None:
        require_list(actions)
    offered = list(actions) if actions is not None else None
    if offered and isinstance(offered[0], (list, tuple, np.ndarray)):
        return _column("actions", offered, n)
    return [offered] * n
