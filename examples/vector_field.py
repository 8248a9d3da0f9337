"""
Learning a vector field
=======================

Vectors are measured at forty points of a field, the sum of a rotation and a source. One kernel learns fields without
divergence, one learns fields without curl, and a mixture of both learns sums of the two. Run it as
``python vector_field.py``.
"""

# %%

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np

import coterie as ct


def whirl(X):
    """Rotation about a point: free of divergence."""
    x, y = (X - [0.3, 0.0]).T
    return np.column_stack([-y, x]) * np.exp(-2 * (x**2 + y**2))[:, None]


def source(X):
    """Away from a point: free of curl."""
    x, y = (X - [-0.4, -0.3]).T
    return np.column_stack([x, y]) * np.exp(-2 * (x**2 + y**2))[:, None]


rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, size=(40, 2))
measured = whirl(X) + source(X) + 0.02 * rng.normal(size=(40, 2))
ticks = np.linspace(-1, 1, 15)
grid = np.stack(np.meshgrid(ticks, ticks), axis=-1).reshape(-1, 2)
truth = whirl(grid) + source(grid)

KERNELS = {
    "no divergence": ct.batch.DivergenceFree(sigma=0.6),
    "no curl": ct.batch.CurlFree(sigma=0.6),
    "both": ct.batch.FieldMixture(mix=0.5, sigma=0.6),
}

# %%
# The measured vectors (black) and the learned field (blue) for each kernel.

figure, panels = plt.subplots(1, 3, figsize=(12, 4.2), layout="constrained", sharey=True)
for axes, (name, kernel) in zip(panels, KERNELS.items(), strict=True):
    field = ct.batch.VectorFieldRidge(kernel, alpha=1e-3).fit(X, measured)
    arrows = field.predict(grid)
    error = np.sqrt(np.mean((arrows - truth) ** 2) / np.mean(truth**2))
    divergence, curl = np.abs(field.divergence(grid)).max(), np.abs(field.curl(grid)).max()
    print(f"{name:14} relative error {error:.2f}, largest divergence {divergence:.2f}, largest curl {curl:.2f}")
    axes.quiver(*grid.T, *arrows.T, color="tab:blue", scale=8)
    axes.quiver(*X.T, *measured.T, color="black", scale=8)
    axes.set(title=f"{name}: error {error:.0%}", aspect="equal")
plt.show()
