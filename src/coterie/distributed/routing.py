"""Routing of tasks to shards, by a hash of the task label that is equal on all machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from coterie._compiled.core.hashing import feature_hash
from coterie.data.tabular import task_labels
from coterie.tasks.index import distinct_labels

if TYPE_CHECKING:
    from collections.abc import Hashable

    from numpy.typing import NDArray

#: Bits of the hash, and the name of the rule in manifests.
BITS = 30
RULE = "feature_hash(text of the task, 30) modulo the number of shards"


def shard_of(task: Hashable, shards: int) -> int:
    """Return the number of the shard to which a task belongs, out of ``shards`` shards.

    Parameters
    ----------
    task : label
        Equal labels, such as 17 and 17.0, are in one shard.
    shards : int
        The number of shards.

    Examples
    --------
    >>> [shard_of(task, 4) for task in ("ann", "bob", 17, 17.0, "17")]
    [3, 0, 0, 0, 0]
    """
    return feature_hash(_text(task), BITS) % shards


class ShardNumbers(dict["Hashable", int]):
    """A cache of the shard numbers of tasks.

    Parameters
    ----------
    shards : int
        The number of shards.
    """

    def __init__(self, shards: int) -> None:
        super().__init__()
        self._shards = shards

    def __missing__(self, task: Hashable) -> int:
        self[task] = number = shard_of(task, self._shards)
        return number

    def look_up(self, tasks: Any) -> NDArray[np.int64]:
        """Return the shard number of each record, given its task in any form that models read."""
        distinct, places = distinct_labels(task_labels(tasks, len(tasks)))
        return np.fromiter(map(self.__getitem__, distinct), np.int64, len(distinct))[places]


def _text(label: object) -> str:
    """Convert a task label to text for hashing; equal labels give equal texts."""
    match label:
        case bool() | np.bool_() | int() | np.integer():
            return str(int(label))
        case float() | np.floating():
            return str(int(label)) if float(label).is_integer() else repr(float(label))
        case tuple():
            return repr(tuple(map(_text, label)))
    return str(label)
