"""Running moments that hold their extremes out: the definition, the same bits however they are reached, one wild value."""

import numpy as np
import pytest
from numpy.typing import NDArray

from coterie._compiled.core.moments import FAR, LIMIT, NOTHING, noted, scale_of, z_score
from coterie._compiled.primal.scaling import prepare_columns
from coterie._compiled.primal.targets import standardise as labels_standardised
from coterie._compiled.text.rows import standardise
from reference import moments as reference

Floats = NDArray[np.float64]
RNG = np.random.default_rng(0)
COLUMNS = {
    "normal": RNG.normal(5.0, 3.0, 120),
    "far": np.r_[RNG.normal(size=60), 1e9, RNG.normal(size=59)],
    "far at first": np.r_[-1e9, 1e6, RNG.normal(size=60)],
    "few values": RNG.integers(0, 3, 80).astype(float),
    "rare": (RNG.random(400) < 0.01).astype(float),
    "constant, then not": np.r_[np.full(20, 0.1), RNG.normal(size=40)],
    "a unit that changes": np.r_[RNG.normal(size=60), 1e3 * RNG.normal(size=60)],
    "an outlier in ten": np.where(RNG.random(150) < 0.1, 1e8 * RNG.normal(size=150), RNG.normal(size=150)),
}
columns = pytest.mark.parametrize("values", COLUMNS.values(), ids=COLUMNS)


@columns
def test_scores_are_the_literal_ones_in_every_form(values: Floats) -> None:
    n = len(values)
    rows, out = np.zeros((2, 7)), np.zeros(n)
    standardise(values, np.ones(n, bool), rows, 1, True, out)
    assert not rows[0].any()
    assert np.abs(out).max() <= LIMIT
    np.testing.assert_allclose(out, reference.scores(values.tolist()), rtol=1e-7, atol=1e-9)
    table, other = np.zeros((n, 1)), np.zeros((1, 7))
    prepare_columns(values[:, None], other, np.full(1, -1), True, False, True, table)
    one = np.zeros((1, 7))
    single = [z_score(x, one, 0, True) for x in values.tolist()]
    moments = NOTHING
    for x in values.tolist():  # the same lines of Python, not compiled
        moments = noted.py_func(x, 1.0, moments)  # type: ignore[attr-defined]
    for same in (table[:, 0].tolist(), single):
        assert same == out.tolist()
    for row in (other[0], one[0], moments):
        assert list(row) == rows[1].tolist()


@columns
def test_labels_are_the_literal_ones_with_any_weights(values: Floats) -> None:
    n = len(values)
    weights = np.where(RNG.random(n) < 0.1, 0.0, RNG.uniform(0.1, 3.0, n))
    weights[:2] = 0.3, 0.7
    inside, shift, factor = np.zeros((3, n))
    moments = labels_standardised(values, weights, NOTHING, inside, shift, factor)
    wanted = reference.scales(values, weights)
    np.testing.assert_allclose(np.c_[shift, factor], wanted[:-1], rtol=1e-7, atol=1e-9)
    in_range = [reference.inside(y, scale) for y, scale in zip(values.tolist(), wanted[1:], strict=True)]
    np.testing.assert_allclose(inside, in_range, rtol=1e-7, atol=1e-8)
    assert np.abs(inside).max() <= FAR
    again, cut = NOTHING, np.zeros((3, n))
    for first in range(0, n, 7):
        part = slice(first, first + 7)
        again = labels_standardised(values[part], weights[part], again, *cut[:, part])
    assert again == moments
    np.testing.assert_array_equal(cut, [inside, shift, factor])


def test_without_far_values_they_are_the_usual_moments() -> None:
    for values in (RNG.normal(5.0, 3.0, 300), RNG.exponential(size=300), RNG.normal(size=2), RNG.normal(size=3)):
        moments = NOTHING
        for x in values.tolist():
            moments = noted(x, 1.0, moments)
        np.testing.assert_allclose(scale_of(moments), (values.mean(), values.std()), rtol=1e-12)
