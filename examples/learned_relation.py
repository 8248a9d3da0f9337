"""
A learned relation of tasks
===========================

Twelve tasks form three groups, and the third group has the opposite weights of the first. The learner does not know
this. ``LogDet`` learns the relation of the tasks from the stream, by updates at mistakes. Run it as
``python learned_relation.py``.
"""

# %%

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np

import coterie as ct
from coterie.evaluation.explanation import correlations, nearest_tasks

rng = np.random.default_rng(0)
first, second = rng.normal(size=(2, 30))
tastes = np.array([first, second, -first])[np.arange(12) % 3] + 0.3 * rng.normal(size=(12, 30))
names = np.array([f"{'abc'[i % 3]}{i // 3}" for i in range(12)])

task = rng.integers(12, size=6000)
X = rng.normal(size=(6000, 30))
X /= np.linalg.norm(X, axis=1, keepdims=True)
y = (X * tastes[task]).sum(axis=1) > 0

learned = ct.MultitaskPerceptron(ct.tasks.Primed(ct.LogDet(eta=1e-2, step_norm=True), "auto"))
comparison = ct.compare({"learned": learned}, X, y, task=names[task], tasks=names.tolist())
for name, trace in comparison.traces.items():
    print(f"{name:12} {trace.error:.1%} error")

# %%
# The nearest tasks of two tasks. A negative number means opposite weights.

for name in ("a0", "b0"):
    print(name, [(other, round(share, 2)) for other, share in nearest_tasks(learned, name, n=7)])

# %%
# The learned matrix, and the correlations of the true weights, which the learner never saw.

shown = sorted(names)
true = np.corrcoef(tastes[[list(names).index(name) for name in shown]])
figure, both = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
for axes, matrix, title in zip(both, (correlations(learned, shown), true), ("learned", "true"), strict=True):
    image = axes.imshow(matrix, cmap="RdBu_r", vmin=-1, vmax=1)
    axes.set(title=title, xticks=range(12), yticks=range(12))
    axes.set_xticklabels(shown)
    axes.set_yticklabels(shown)
figure.colorbar(image, ax=both, label="sharing")
plt.show()
