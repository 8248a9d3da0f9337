"""Functions with one body per named-tuple type: which body is taken, and that memory is asked for where it pays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from numba import njit

from coterie.hypotheses.storage import Storage
from coterie.numeric.generic import compiled, generic, when
from coterie.numeric.prefetch import fetch
from coterie.numeric.records import Csr, Dense


class Round(NamedTuple):
    size: float


class Square(NamedTuple):
    size: float


@generic
def meeting(one, other):
    """Who meets whom."""


when(meeting, object)(lambda one, other: 0)
when(meeting, Round)(lambda one, other: 1)
when(meeting, object, Square)(lambda one, other: 2)
when(meeting, Round, Square)(lambda one, other: 3)


@compiled
def met(one, other):
    return meeting(one, other)


def test_of_several_bodies_the_one_that_names_the_most_types_is_taken():
    assert met(Round(1.0), Square(1.0)) == 3
    assert met(Round(1.0), Round(1.0)) == 1
    assert met(Square(1.0), Square(1.0)) == 2
    assert met(Square(1.0), Round(1.0)) == 0


SPARSE_RECORD = Csr(np.ones(1), np.zeros(1, np.int32), np.array([0, 1]))
DENSE_RECORD = Dense(np.ones((1, 4)))


@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize(("kind", "asks"), [("dense", False), ("hashed", False), ("sparse", True)])
def test_records_with_few_features_have_their_weights_asked_for_ahead(kind, paired, asks):
    table = Storage(kind, "float64", 4, paired).table(2, 4, dense=True)
    for rows, asked in ((SPARSE_RECORD, True), (DENSE_RECORD, asks)):

        @njit
        def ask(table, rows):
            fetch(table, 0, rows, 0)

        ask(table, rows)
        (code,) = ask.inspect_llvm().values()
        assert ("call void @llvm.prefetch" in code) == asked
