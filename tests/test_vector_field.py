"""VectorFieldRidge: explicit kernel matrices, divergence and curl by finite differences, gradients, refusals."""

import numpy as np
import pytest

import coterie as ct

RNG = np.random.default_rng(3)
KERNELS = [
    ct.batch.DivergenceFree(sigma=0.9),
    ct.batch.CurlFree(sigma=0.9),
    ct.batch.FieldMixture(mix=0.3, sigma=0.9),
    ct.batch.Separable(sigma=0.9),
]
KINDS = [type(kernel).__name__ for kernel in KERNELS]


def field(kernel, D, n=25, alpha=0.01):
    X, Y = RNG.normal(size=(n, D)), RNG.normal(size=(n, D))
    return X, Y, ct.batch.VectorFieldRidge(kernel, alpha).fit(X, Y)


def literal_block(kernel, x, z):
    """Γ(x, z), from the formulas."""
    D, delta = len(x), x - z
    sigma2, r2 = kernel.sigma**2, float((x - z) @ (x - z))
    height = np.exp(-r2 / (2 * sigma2)) / sigma2
    free = height * (np.outer(delta, delta) / sigma2 + ((D - 1) - r2 / sigma2) * np.eye(D))
    curl = height * (np.eye(D) - np.outer(delta, delta) / sigma2)
    blocks = {"DivergenceFree": free, "CurlFree": curl, "FieldMixture": 0.3 * free + 0.7 * curl}
    return blocks.get(type(kernel).__name__, height * sigma2 * np.eye(D))


def central(f, x, h=1e-5):
    """∂f_i/∂x_k by central differences."""
    steps = h * np.eye(len(x))
    return np.column_stack([(f(x + e) - f(x - e)) / (2 * h) for e in steps])


@pytest.mark.parametrize("kernel", KERNELS, ids=KINDS)
@pytest.mark.parametrize("D", [1, 2, 3, 4])
def test_the_system_is_that_of_the_definition(kernel, D):
    X, Y, model = field(kernel, D)
    G = np.block([[literal_block(kernel, x, z) for z in X] for x in X])
    c = np.linalg.solve(G + 0.01 * np.eye(X.size), Y.ravel()).reshape(Y.shape)
    np.testing.assert_allclose(model.dual_coef_, c, rtol=1e-8, atol=1e-8)
    new = RNG.normal(size=(6, D))
    expected = [sum(literal_block(kernel, x, z) @ c_j for z, c_j in zip(X, c, strict=True)) for x in new]
    np.testing.assert_allclose(model.predict(new), expected, rtol=1e-8, atol=1e-8)
    assert np.linalg.eigvalsh(G)[0] > -1e-9


@pytest.mark.parametrize("kernel", KERNELS, ids=KINDS)
@pytest.mark.parametrize("D", [1, 2, 3, 4])
def test_the_gradient_is_that_of_finite_differences(kernel, D):
    _, _, model = field(kernel, D)
    for x in RNG.normal(size=(4, D)):
        by_differences = central(lambda at: model.predict(at[None])[0], x)
        np.testing.assert_allclose(model.gradient(x[None])[0], by_differences, atol=1e-6)
        assert model.divergence(x[None])[0] == pytest.approx(np.trace(by_differences), abs=1e-6)
        np.testing.assert_allclose(model.curl(x[None])[0], by_differences.T - by_differences, atol=1e-6)


@pytest.mark.parametrize("D", [2, 3, 4])
def test_fields_are_free_of_what_they_are_free_of(D):
    free, gradient = field(KERNELS[0], D)[2], field(KERNELS[1], D)[2]
    for x in RNG.normal(size=(5, D)):
        slopes = central(lambda at: free.predict(at[None])[0], x)
        assert abs(np.trace(slopes)) < 1e-6 * np.abs(slopes).max() + 1e-7
        slopes = central(lambda at: gradient.predict(at[None])[0], x)
        np.testing.assert_allclose(slopes, slopes.T, atol=1e-6)
