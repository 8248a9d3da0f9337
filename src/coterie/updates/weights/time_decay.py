"""Forgetting: weights decay, with one half-life for shared weights and one for each task's own weights.

The arithmetic is in ``_compiled/primal/forgetting.py``.
"""

from __future__ import annotations

from typing import Any

from coterie import spec
from coterie._compiled.primal.forgetting import TimeDecay

from .wrapper import HypothesisWrapper

_HALF_LIFE = spec.Setting(above=0, infinite=True, must="be a positive half-life", several=True)


@spec.part
class Forgetting(HypothesisWrapper):
    """Decay of weights: after every round they shrink, with separate half-lives for shared and for task weights.

    Shared weights are multiplied by 2^(-1/``shared``), task weights by 2^(-1/``own``).

    An update counts half after this many rounds of the stream, whatever their tasks. ``AdaptiveGradient`` decays the
    sums of squared gradients with the weights, so that rates grow again; :class:`coterie.updates.DiagonalAROW` the
    added precision, so that variances grow; ``CoinBetting`` weights, sums and rewards, not the scales of features. A
    rare task falls back to the shared weights.

    Parameters
    ----------
    hypothesis : LinearWeights, AdaptiveGradient, CoinBetting or DiagonalAROW
        The weights that decay.
    shared, own : float > 0
        Half-lives in rounds; infinity forgets nothing. For relations that are not of nested groups the two must be the
        same.

    Raises
    ------
    ValueError
        If a half-life is not positive.
    TypeError
        If these weights do not support decay.

    Notes
    -----
    O(1) more per round, by a scale factor for each table, and no more memory.

    Examples
    --------
    >>> from coterie.updates import LinearWeights
    >>> Forgetting(LinearWeights(), shared=10_000, own=1000).own
    1000
    """

    hypothesis: Any
    shared: float = spec.field(_HALF_LIFE, default=10_000.0)
    own: float = spec.field(_HALF_LIFE, default=10_000.0)

    def __post_init__(self) -> None:
        if not getattr(self.hypothesis, "fades", False):
            raise TypeError(
                "Forgetting needs LinearWeights, AdaptiveGradient, CoinBetting or DiagonalAROW, got "
                f"{self.hypothesis!r}"
            )

    @property
    def forms(self) -> tuple[str, ...]:
        """The supported forms of relation: nested groups and task intercepts; all fixed ones for equal half-lives."""
        known = {"levels", "repelling levels", "intercepts"} | ({"columns"} if self.shared == self.own else set())
        return tuple(form for form in self.hypothesis.forms if form in known)

    def make_model(self, form: str, sharing: Any, groups: int, tasks: int, features: int, dense: bool) -> TimeDecay:
        """Return the model of the wrapped weights, with a scale factor for each table."""
        model = self.hypothesis.make_model(form, sharing, groups, tasks, features, dense)
        return TimeDecay.from_model(model, *(float(2.0 ** (-1.0 / half_life)) for half_life in (self.shared, self.own)))


def with_half_life(hypothesis: Any, half_life: float | tuple[float, ...] | None) -> Any:
    """Wrap weights in ``Forgetting`` if ``half_life`` is set; else return them unchanged."""
    return hypothesis if half_life is None else Forgetting(hypothesis, *half_lives(half_life))


def half_lives(half_life: float | tuple[float, ...]) -> tuple[float, ...]:
    """Return the half-lives of shared weights and of task weights; raise ValueError for invalid ones."""
    both = tuple(half_life) if isinstance(half_life, (tuple, list)) else (half_life, half_life)
    if len(both) != 2:
        raise ValueError(f"half_life must be one number, or two for shared and own weights, got {half_life!r}")
    if not all(spec.is_number(length) and length > 0 for length in both):
        raise ValueError(f"half_life must be positive, got {half_life!r}")
    return tuple(map(float, both))  # powers of NumPy's float32 would be computed in its precision
