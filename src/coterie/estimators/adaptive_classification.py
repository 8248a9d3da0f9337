"""The default classifier, an ensemble that learns how much the tasks share."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import KW_ONLY
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from coterie import spec
from coterie._compiled.primal.kalman_filter import WIDEST
from coterie.models.contract import BaseLearner
from coterie.models.ensemble import Member, make_ensemble
from coterie.models.mixed_effects_learner import MixedEffectsLearner, Prior
from coterie.tasks.relations import HalfUpdate, Independent, Intercepts, MeanRegularized, Pooled
from coterie.types import Estimator, Part
from coterie.updates.rules import AROW, Logistic
from coterie.updates.weights import AdaptiveGradient, CoinBetting, DiagonalAROW
from coterie.wording import nearest

from .estimator import OnlineEstimator, baseline_parameters
from .logistic import MultitaskLogistic
from .parameter_fields import SCALE, LinearEstimator

Members = dict[str, Any]
#: Sets of members by name.
NamedSet = Literal["default", "cheap", "ensemble"]

#: The initial prior variances of the mixed-effects model, for records of at most 2 features, and their learning rate.
LEARNED = Prior(5.0, 0.2, rate=0.7, features=2)
#: The initial wealth of a coin bettor for its rows together, so that each of two rows has as much as one alone.
COINS = 2.0
#: The experts of "cheap" from its two learners: the pool, a task's own, both.
CHEAP = {"pooled": (1.0, 0.0), "own": (0.0, 1.0), "both": (1.0, 1.0)}


@spec.estimator
class AdaptiveSharingClassifier(LinearEstimator):
    r"""The default classifier: an ensemble that learns how much each task shares with the others.

    Several members learn each record: by default :class:`MultitaskLogistic` with share 0 and 1, :class:`MultitaskAROW`
    with share 1/2, a logistic regression by ``CoinBetting`` with the margin (w + w_i) · x, w shared and w_i a task's
    own, and a logistic mixed-effects model, which learns the prior variances of w_i from labels in time; they are first
    5 for the constant and .2 for others, or .4 / c if a record had c > 2 features that were not 0; see
    :mod:`coterie._compiled.primal.kalman_filter`. It learns the first 127 features that are not 0, and is removed
    permanently when more than 1,023 have been seen. The log-odds f_a are mixed by their 0/1 losses so far, L_a over all
    tasks and L_ia on task i (a zero margin counts half; S members):

        eta = min(1, sqrt(2 ln S / (1 + min_a L_a))),    p_a ∝ exp(-eta L_a - local · L_ia),    mixed = Σ_a p_a f_a.

    The margin is c · mixed + Σ_a u_a f_a, with c = 1 and u = 0 in the beginning: a logistic regression, learned online
    over all tasks, that makes log-odds of members' margins, whose scales differ. It is about as good as the
    best of its members in hindsight, falls back to independent models or to a single one if these are best, and may
    choose differently for each task.

    Parameters
    ----------
    members : {"default", "cheap", "ensemble"} or sequence, optional
        The members of the ensemble, by default ``"default"``.

        =============  ===============================================================================================
        ``default``    logistic at share 0 and 1, AROW with r=30 at share 1/2, coin betting, a mixed-effects model
        ``cheap``      a pooled and a per-task logistic and their sum: half the time and memory, for millions of tasks
        ``ensemble``   ``default``, AROW with r=3 at share 1, and coin betting at share 0 and 1: the most accurate
        =============  ===============================================================================================

        Or any sequence of online classifiers and of :class:`coterie.models.ensemble.Member`. If the margins of one are
        not log-odds, such as a Perceptron's, the margins are averaged without stacking (c = 1, u = 0), and there are no
        probabilities.
    local : float >= 0, default=0.1
        lambda, the weight of a task's own losses; 0 gives the same p_a to all tasks.
    step : float > 0, default=0.7
        The rate of the logistic members of the named sets.
    fit_intercept : bool, default=True
        Give every record a constant feature, as ``coterie learn`` does.
    scale : {"none", "standard", "unit", "auto"}, default="auto"
        The scaling of numbers: ``"auto"`` makes z-scores of them, by the records so far, and brings records to unit
        length, as ``coterie learn`` does; see :class:`MultitaskPerceptron`. A frame or Arrow table with more than
        numbers is then read as the same table in a file: strings and truth values are categories. Members that are
        estimators get the records after this preprocessing, independent of their own parameters.
    log : str or sequence of columns, optional
        Columns replaced by sign(x) · log(1 + |x|) before the scaling, as by ``coterie learn --log``: names of a frame's
        columns or of features, or column numbers of arrays.
    storage
        The storage of the members of the named sets, see :class:`MultitaskPerceptron`.
    task_column, new_task, max_tasks, class_weight
        See :class:`MultitaskPerceptron`.

    Attributes
    ----------
    sharing_ : ndarray, shape (n_tasks,)
        The share of each task of ``tasks_``, the mean of the members' shares by their weights: near 0 for a separate
        model, near 1 for the model of all tasks. Members also differ in their rule, so use it to rank tasks only.
    sharing_weights_ : ndarray, shape (n_tasks, n_members)
        The weights p_a of the members at each task.
    members_ : list of str
        The members' names, in that order.

    Notes
    -----
    O(nnz) per record and member, O(d²) for a mixed-effects model of d features, and O(S²) per record, whatever the
    number of tasks. The default keeps eight numbers per feature and task, one line of cache, and two more of mixed
    effects: about 1.7 kB per task for twenty dense features (``memory_``).

    Log-odds of mixed effects are shrunk by the variance of each record, so ``coef_`` and ``intercept_``, the means of
    the weights, do not sum to the margin; ``explain`` does. With delayed labels, members' losses are those of their
    original predictions, not of those at the time of the label.

    Examples
    --------
    >>> import numpy as np, coterie as ct
    >>> rng = np.random.default_rng(0)
    >>> X, task = rng.standard_normal((4000, 5)), rng.integers(4, size=4000)
    >>> y = X[:, 0] * np.where(task == 3, -1, 1) > 0
    >>> model = ct.AdaptiveSharingClassifier().fit(X, y, task=task)
    >>> model.members_
    ['independent', 'pooled', 'half-shared AROW(30)', 'coin betting', 'mixed effects']
    >>> bool(model.sharing_.max() < 0.5)  # a model of all would be wrong on the fourth task
    True
    """

    _expects_tasks = True

    members: NamedSet | Sequence[Any] | None = None
    local: float = 0.1
    step: float = 0.7
    _: KW_ONLY
    scale: Literal["none", "standard", "unit", "auto"] | None = spec.field(SCALE, default="auto")
    class_weight: Mapping[Hashable, float] | Literal["balanced"] | None = None

    @property
    def members_(self) -> list[str]:
        """The names of the ensemble's members."""
        return list(CHEAP if self.members == "cheap" else self._named_members())

    @property
    def sharing_(self) -> NDArray[np.float64]:
        """The share of each task of ``tasks_``: the average of the members' shares by their weights."""
        model = self._fitted_model()
        with model.lock:
            return np.asarray(model.learner.share(model.state))

    @property
    def sharing_weights_(self) -> NDArray[np.float64]:
        """The weight of each member for each task of ``tasks_``, in the order of ``members_``."""
        model = self._fitted_model()
        mixture: Part = model.learner
        with model.lock:
            return np.asarray(mixture.expert_weights(model.state))

    def _with_relation(self, relation: Part) -> Estimator:
        """Return the first member with another relation, as a baseline; for named sets of members the logistic one."""
        first = self._first_estimator
        if first is not None:
            return self._reading_alike(first._with_relation(relation))
        return MultitaskLogistic(relation, step=self.step, **baseline_parameters(self))

    def _with_intercepts(self) -> Estimator:
        """Return a baseline of the first member's kind: one model for all tasks with an intercept per task."""
        first = self._first_estimator
        if first is not None:
            return self._reading_alike(first._with_intercepts())
        return self._with_relation(Intercepts())

    @property
    def _first_estimator(self) -> OnlineEstimator | None:
        first = None if self.members is None or isinstance(self.members, str) else self.members[0]
        return first if isinstance(first, OnlineEstimator) else None

    def _reading_alike(self, model: Estimator) -> Estimator:
        """Return a copy of ``model`` with this ensemble's preprocessing parameters."""
        own = {"fit_intercept": self.fit_intercept, "scale": self.scale, "log": self.log}
        known = () if model is None else model.get_params(False)
        return model and model.set_params(**{name: value for name, value in own.items() if name in known})

    def _make_learner(self) -> BaseLearner:
        learners = [_learner_of(member) for member in self._named_members().values()]
        return make_ensemble(learners, list(CHEAP.values()) if self.members == "cheap" else None, self.local)

    def _named_members(self) -> Mapping[str, Any]:
        if self.members is None or isinstance(self.members, str):
            name = self.members or "default"
            if name not in (names := get_args(NamedSet)):
                message = f"members must be one of {', '.join(names)} or a sequence of models, got {name!r}"
                raise ValueError(message + nearest(name, names))
            return _members_of(name, AdaptiveGradient(self.step, storage=self.storage))
        if not isinstance(self.members, Sequence) or not self.members:
            raise ValueError(f"members must be one or more models, or the name of a set, got {self.members!r}")
        for n, member in enumerate(self.members):
            spec.require_instance(f"members[{n}]", member)
            if not isinstance(member, (OnlineEstimator, Member)):
                raise TypeError(f"members must be online classifiers or coterie.models.ensemble.Member, got {member!r}")
            if isinstance(member, OnlineEstimator) and not member._is_binary:
                raise TypeError(f"members must be binary classifiers of one vector per record, got {member!r}")
            if getattr(member, "class_weight", None) is not None:
                raise ValueError(
                    f"class_weight of a member has no effect; set it on the ensemble instead of {member!r}"
                )
        return {f"{n}: {member!r}": member for n, member in enumerate(self.members)}


def _learner_of(member: Estimator) -> BaseLearner:
    if isinstance(member, Prior):
        return MixedEffectsLearner(member, logistic=True, most=WIDEST)
    if isinstance(member, Member):
        return member.learner()
    return member._make_learner() if isinstance(member, OnlineEstimator) else member


def relation_at(share: float) -> Part:
    """Return the relation for a share s, by which updates are shared with M = (1 - s) I + s 11'.

    M is the matrix with 1 on its diagonal and s elsewhere.
    """
    known = {0.0: Independent(), 0.5: HalfUpdate(), 1.0: Pooled()}
    return known.get(share) or MeanRegularized(share=share)


def _members_of(name: str, gradient: AdaptiveGradient) -> Members:
    """Return the members, by name, of the set ``name`` ("default", "cheap" or "ensemble").

    ``gradient`` are the weights of its logistic members.
    """

    def logistic(share: float) -> Member:
        return Member(gradient, relation_at(share), Logistic())

    def arow(r: float, share: float) -> Member:
        return Member(DiagonalAROW(r, storage=gradient.storage), relation_at(share), AROW())

    def coin(wealth: float, share: float) -> Member:
        return Member(CoinBetting(wealth=wealth, storage=gradient.storage), relation_at(share), Logistic())

    if name == "cheap":
        return {"pooled": logistic(1.0), "own": logistic(0.0)}
    members: Members = {"independent": logistic(0.0), "pooled": logistic(1.0)}
    members |= {"half-shared AROW(30)": arow(30.0, 0.5), "coin betting": coin(COINS, 0.5)}
    if name == "ensemble":
        members |= {"pooled AROW(3)": arow(3.0, 1.0)}
        members |= {"independent coin betting": coin(1.0, 0.0), "pooled coin betting": coin(1.0, 1.0)}
    return members | {"mixed effects": LEARNED}
