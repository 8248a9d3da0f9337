"""
Contextual bandits: sixty users, ten offers
===========================================

Users in six groups like different offers, and each round shows one offer to one user. This example compares a bandit
that shares between users, one bandit per user, and one bandit for all users. Run it as
``python choose_for_each_user.py``.
"""

# %%

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np

import coterie as ct

OFFERS = ["shoes", "hats", "coats", "bags", "rings", "books", "games", "plants", "tea", "cake"]
ROUNDS, USERS, GROUPS = 6000, 60, 6

rng = np.random.default_rng(0)
taste = rng.normal(size=(GROUPS, len(OFFERS), 4))[np.arange(USERS) % GROUPS] + 0.2 * rng.normal(
    size=(USERS, len(OFFERS), 4)
)
users = rng.integers(USERS, size=ROUNDS)
pages = rng.normal(size=(ROUNDS, 4))
likes = np.einsum("td,tad->ta", pages, taste[users]) / 2.0
clicks = rng.uniform(size=likes.shape) < 1.0 / (1.0 + np.exp(2.0 - 2.0 * likes))

# %%
# All bandits see the same users and pages. Each learns only whether the offer that it showed was clicked.

policies = {
    "shared": (ct.Bandit(actions=OFFERS), lambda user: f"user {user}"),
    "one for each user": (
        ct.Bandit(ct.MultitaskRegressor(ct.Independent()), actions=OFFERS),
        lambda user: f"user {user}",
    ),
    "one for all": (ct.Bandit(ct.MultitaskRegressor(ct.Pooled()), actions=OFFERS), lambda user: "anybody"),
}
rewards = {name: np.zeros(ROUNDS) for name in policies}
for t, (page, user) in enumerate(zip(pages.tolist(), users.tolist(), strict=True)):
    x = dict(zip(("news", "sport", "travel", "food"), page, strict=True))
    for name, (bandit, task_of) in policies.items():
        choice = bandit.choose(x, task=task_of(user), id=t)
        rewards[name][t] = reward = float(clicks[t, choice.index])
        bandit.learn(x, choice, reward, choice.probability, task=task_of(user))
for name, clicked in rewards.items():
    print(f"{name:18} {clicked.mean():.3f} clicks per round, {clicked[-1000:].mean():.3f} in the last thousand")
print(f"{'chance':18} {clicks.mean():.3f}")

# %%
# The mean reward over the last five hundred rounds.

figure, axes = plt.subplots(figsize=(7, 4))
for name, clicked in rewards.items():
    axes.plot(np.convolve(clicked, np.ones(500) / 500, "valid"), label=name)
axes.axhline(clicks.mean(), color="0.6", linestyle=":", label="chance")
axes.set_xlabel("rounds")
axes.set_ylabel("clicks per round, mean of 500")
axes.legend()
figure.tight_layout()

# %%
# The explanation of a prediction. Each part belongs to a product of a feature of the page and an offer.

shared, _ = policies["shared"]
print(shared.explain(x, shared.choose(x, task="user 3", id="why"), task="user 3"))

if __name__ == "__main__":
    plt.show()
