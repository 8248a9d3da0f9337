"""Half-lives as estimators take them: most forget nothing, and do without the compiled code for it."""

from __future__ import annotations

from typing import Any


def forgetting(hypothesis: Any, half_life: float | tuple[float, ...] | None) -> Any:
    """The hypothesis, forgetting if a half-life is given: one for all, or those of the shared and the own part."""
    if half_life is None:
        return hypothesis
    from .fading import Forgetting

    both = tuple(half_life) if isinstance(half_life, (tuple, list)) else (half_life, half_life)
    if len(both) != 2:
        raise ValueError(
            f"half_life must be one number or two, of what is shared and of a task's own, got {half_life!r}"
        )
    if not all(each > 0 for each in both):
        raise ValueError(f"half_life must be positive, got {half_life!r}")
    return Forgetting(hypothesis, *both)
