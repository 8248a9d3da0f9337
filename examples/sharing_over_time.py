"""
Learning how much to share
==========================

There are three streams: all users are alike, users have nothing in common, and all users but one are similar.
``AdaptiveSharingClassifier`` learns for each stream how much to share. Run it as ``python sharing_over_time.py``.
"""

# %%

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np

import coterie as ct

USERS, FEATURES, ROUNDS, BLOCK, ODD = 10, 10, 12000, 200, 7


def tastes(stream, rng):
    """Return the weights of each user, shape (users, features)."""
    common, own = rng.normal(size=FEATURES), rng.normal(size=(USERS, FEATURES))
    if stream == "all alike":
        return np.tile(common, (USERS, 1))
    if stream == "nothing in common":
        return own
    liked = common + 0.3 * own
    liked[ODD] = -common
    return liked


def examples(stream):
    """Return records, labels and users; a label is the sign of a linear function of the user plus noise."""
    rng = np.random.default_rng(1)
    liked, user = tastes(stream, rng), rng.integers(USERS, size=ROUNDS)
    X = rng.normal(size=(ROUNDS, FEATURES))
    return X, (X * liked[user]).sum(axis=1) + rng.normal(size=ROUNDS) > 0, user


# %%
# Each stream is learned in blocks. After each block, ``sharing_`` has the estimated share of each user, from 0 (a
# separate model) to 1 (the model of all users).

STREAMS = ("all alike", "nothing in common", "alike but one")
figure, panels = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained", sharey=True)
for axes, stream in zip(panels, STREAMS, strict=True):
    X, y, user = examples(stream)
    model = ct.AdaptiveSharingClassifier()
    shares = np.full((ROUNDS // BLOCK, USERS), np.nan)
    for n in range(ROUNDS // BLOCK):
        rows = slice(n * BLOCK, (n + 1) * BLOCK)
        model.partial_fit(X[rows], y[rows], task=user[rows])
        shares[n, model.tasks_] = model.sharing_
    axes.plot(np.arange(1, len(shares) + 1) * BLOCK, shares, color="tab:gray", alpha=0.5)
    if stream == "alike but one":
        axes.plot(np.arange(1, len(shares) + 1) * BLOCK, shares[:, ODD], color="tab:red", label="the odd one")
        axes.legend()
    axes.set(title=stream, xlabel="examples of all users", ylim=(-0.05, 1.05))
    print(f"{stream:18} final shares: {np.round(shares[-1], 2)}")
panels[0].set_ylabel("share")
plt.show()

# %%
# The cost of learning the share: errors of the adaptive learner and of learners with a fixed share.

fixed = {f"share {share}": ct.MultitaskLogistic(ct.MeanRegularized(share=share)) for share in (0.25, 0.5, 0.75)}
for stream in STREAMS:
    X, y, user = examples(stream)
    comparison = ct.compare({"adaptive": ct.AdaptiveSharingClassifier(), **fixed}, X, y, task=user)
    print(f"{stream:18}", ", ".join(f"{name} {trace.error:.1%}" for name, trace in comparison.traces.items()))
