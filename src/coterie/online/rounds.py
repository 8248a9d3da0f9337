"""What a run of rounds gives back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.streams.view_weights import ViewWeights

Margins = NDArray[np.float64]
#: What makes the asker of a run of records, once its tasks are known to the state.
Asking = Callable[[Any], Any]


@dataclass(frozen=True)
class Rounds:
    """A run of rounds: margins before each label (positive for ``classes_[1]``), who moved, which labels were asked.

    Of support vectors ``stored`` says which records became one, ``evicted`` which task lost one, -1 for none. Of
    several views ``weights`` says how long theirs were.
    """

    margin: Margins
    updated: NDArray[np.bool_]
    queried: NDArray[np.bool_]
    stored: NDArray[np.bool_] | None = None
    evicted: NDArray[np.int64] | None = None
    weights: ViewWeights | None = None
