"""Kernel models in dual form: f_i(x) = Σ_j beta_j M_(i_j i) k(x_j, x), with a budget of support vectors.

The arithmetic is in ``_compiled/dual``.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from coterie import spec
from coterie._compiled.core.arrays import roomy
from coterie._compiled.core.points import Kernel
from coterie._compiled.dual.expansion import SIZE, Budget, Expansion, Support
from coterie._compiled.dual.stores import empty_store
from coterie.types import Codes

#: The groups of tasks under a relation that has none.
NO_PATHS = np.zeros((0, 0), np.int64)


@spec.part
class Dual:
    """Kernel model in dual form, with support vectors on a budget.

    The margin of a record x of task i is f_i(x) = Σ_j beta_j M_(i_j i) k(x_j, x). x_j is a support vector of task i_j
    with coefficient beta_j, k the kernel, and M = A⁻¹ the matrix by which tasks share updates.

    Parameters
    ----------
    kernel : kernel
        One of :mod:`coterie.kernels`.
    budget : budget
        One of :mod:`coterie.updates.budgets`.

    Examples
    --------
    >>> import coterie as ct
    >>> Dual(ct.kernels.Gaussian(2.0), ct.updates.Forgetron(100)).forms
    ('levels', 'repelling levels', 'columns')
    """

    kernel: Kernel
    budget: Budget

    forms: ClassVar[tuple[str, ...]] = ("levels", "repelling levels", "columns")

    def start(self, sharing: Any, paths: Codes | None, features: int, dense: bool) -> Expansion:
        """Return a model without support vectors.

        ``sharing`` has the relation's arrays, and ``paths`` the group numbers of each task.
        """
        levels, form = (0, "columns") if paths is None else (paths.shape[1], "levels")
        store = empty_store(dense, features)
        return Expansion(Support.empty(levels), self.budget.memory(form), sharing, store)

    def with_room(self, model: Expansion, fresh: int, paths: Codes | None, tasks: int) -> Expansion:
        """Resize the model for ``fresh`` more support vectors, up to the budget, and for this many tasks."""
        rows, need = len(model.support.tasks), int(model.support.counts[SIZE]) + fresh
        most = need if self.budget.size is None else self.budget.size
        capacity = max(rows, min(roomy(rows, need), most))
        memory = self.budget.fit(model.memory, capacity, NO_PATHS if paths is None else paths[:tasks], tasks)
        support, store = model.support.with_room(capacity), model.store.with_room(capacity)
        return model._replace(support=support, memory=memory, store=store)
