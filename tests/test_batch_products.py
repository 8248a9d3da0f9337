"""Batch estimators where kernel matrices are not kept, are zero, or come in two forms; and what does not fit in memory."""

import numpy as np
import pytest
import scipy.sparse as sp

import coterie as ct
from coterie._compiled.core.points import points
from coterie.batch import MultitaskKernelRidge as KernelRidge
from coterie.batch import products
from coterie.data.tabular import block_rows
from coterie.kernels import Linear
from reference import kernel_ridge as reference

RNG = np.random.default_rng(19)
N, D, T = 30, 4, 3
X = np.where(RNG.random((N, D)) < 0.4, 0.0, RNG.normal(size=(N, D)))
TASK = np.r_[np.arange(T), RNG.integers(T, size=N - T)]
Y = X[:, 0] + 0.5 * TASK * X[:, 1] + 0.1 * RNG.normal(size=N)
C = RNG.normal(size=(N, 2))
M = np.array([[1.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.2, 1.0]])
NEW = RNG.normal(size=(7, D))
FORMS = {"dense": np.asarray, "sparse": sp.csr_array}


def as_points(rows):
    return points(block_rows(rows)[0], np.arange(rows.shape[0]), D)


@pytest.mark.parametrize("most", [0, products.MOST_WEIGHTS], ids=["by pairs", "by features"])
@pytest.mark.parametrize("asked", FORMS)
@pytest.mark.parametrize("learned", FORMS)
def test_products_of_a_linear_kernel_are_sums_over_pairs(monkeypatch, learned, asked, most):
    monkeypatch.setattr(products, "MOST_WEIGHTS", most)
    monkeypatch.setattr(products, "BLOCK_ENTRIES", 100)  # several blocks
    Z, records, places = as_points(FORMS[learned](X)), as_points(FORMS[asked](NEW)), np.arange(7) % T
    K, kernel = reference.linear(NEW, X), Linear()
    product = products.joint_product(kernel, records, places, Z, TASK, M, C, "float64")
    np.testing.assert_allclose(product, reference.joint(K, M, places, TASK) @ C, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(products.gram_product(kernel, records, Z, C, "float64"), K @ C, rtol=1e-10, atol=1e-12)
    every = reference.linear(X, X)
    for coefficients in (C, products.by_tasks(TASK, C[:, 0], T)):
        dense = products.dense(coefficients)
        product = products.quadratic(kernel, Z, coefficients, "float64")
        np.testing.assert_allclose(product, dense.T @ every @ dense, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("kernel", ["linear", ct.kernels.Gaussian(1.3), ct.kernels.Polynomial(2)], ids=repr)
def test_records_may_be_dense_where_those_learned_from_were_sparse(kernel):
    model = KernelRidge(kernel)
    expected = model.fit(X, Y, task=TASK).predict(NEW, task=TASK[:7])
    for fitted, asked in ((np.asarray, sp.csr_array), (sp.csr_array, np.asarray)):
        model.fit(fitted(X), Y, task=TASK)
        np.testing.assert_allclose(model.predict(asked(NEW), task=TASK[:7]), expected, rtol=1e-9, atol=1e-12)
        machine = ct.batch.MultitaskSVC(kernel).fit(fitted(X), Y > 0, task=TASK)
        np.testing.assert_array_equal(
            machine.predict(asked(NEW), task=TASK[:7]), machine.predict(fitted(NEW), task=TASK[:7])
        )


def test_an_output_kernel_learned_by_features_is_that_learned_by_pairs():
    relation = ct.batch.OptimalOutputKernel(steps=4)
    by_features = KernelRidge("linear", relation, 0.3).fit(X, Y, task=TASK)
    by_pairs = KernelRidge("precomputed", relation, 0.3).fit(X @ X.T, Y, task=TASK)
    np.testing.assert_allclose(by_features.relation_matrix_, by_pairs.relation_matrix_, rtol=1e-8)
    np.testing.assert_allclose(by_features.objective_, by_pairs.objective_, rtol=1e-8)
    assert by_features.penalty_ == pytest.approx(by_pairs.penalty_, rel=1e-8)


@pytest.mark.parametrize(
    "used", [None, ct.batch.Landweber(3), ct.batch.NuMethod(3), ct.batch.IteratedTikhonov(1.0, 2)], ids=repr
)
@pytest.mark.parametrize("solver", ["auto", "spectrum"])
@pytest.mark.parametrize("shared", [False, True], ids=["rows", "shared"])
def test_records_that_are_all_zero_predict_zero(used, solver, shared):
    model = KernelRidge("linear", filter=used, solver=solver).fit(np.zeros((N, D)), *([C] if shared else [Y, TASK]))
    assert np.isfinite(model.dual_coef_).all()
    assert (model.predict(NEW, *([] if shared else [TASK[:7]])) == 0).all()
