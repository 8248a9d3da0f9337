"""
Limited memory: budgets and errors
==================================

A kernel Perceptron stores the records that it predicted wrongly. A budget limits their number and chooses which to
remove. This example compares four budgets on a stream whose classes are not linearly separable. Run it as
``python budget_against_error.py``.
"""

# %%

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np

import coterie as ct

SIZES = (10, 20, 40, 80, 160)
BUDGETS = (ct.updates.RandomRemoval, ct.updates.Forgetron, ct.updates.Projection, ct.updates.SharedProjection)

rng = np.random.default_rng(0)
task = rng.integers(6, size=4000)
X = rng.normal(size=(4000, 2))
radius = 1.2 + 0.1 * task  # the classes of each task are separated by a circle, which grows with the task
y = (X**2).sum(axis=1) > radius**2


def run(budget):
    """Return the error over the stream and the final number of support vectors."""
    model = ct.MultitaskKernelPerceptron(ct.kernels.Gaussian(sigma=1.0), ct.HalfUpdate(), budget)
    return ct.progressive_validation(model, X, y, task=task).error, model.n_support_


unbounded, n_support = run(ct.updates.Unbounded())
print(f"without a budget: {unbounded:.1%} error, {n_support} support vectors")

# %%

figure, axes = plt.subplots(figsize=(8, 4), layout="constrained")
for budget in BUDGETS:
    errors = [run(budget(size))[0] for size in SIZES]
    print(f"{budget.__name__:17}", *(f"{error:6.1%}" for error in errors))
    axes.plot(SIZES, [100 * error for error in errors], "o-", label=budget.__name__)
axes.axhline(100 * unbounded, color="black", linestyle=":", label=f"no budget ({n_support})")
axes.set(xscale="log", xlabel="support vectors, all tasks together", ylabel="error, %")
axes.set_xticks(SIZES, labels=map(str, SIZES))
axes.legend()
plt.show()
