"""The frozen traces of tests/golden; `python tests/golden/make.py` writes them anew."""

import json

import numpy as np
import pytest

from golden.make import FOLDER, MODELS, trace_of


def test_every_model_has_a_trace():
    assert {path.stem for path in FOLDER.glob("*.json")} == set(MODELS)


@pytest.mark.parametrize("name", MODELS)
def test_frozen_trace(name):
    frozen, found = json.loads((FOLDER / f"{name}.json").read_text()), trace_of(name)
    rtol = 1e-10
    for key in ("model", "updated", "tasks"):
        assert found[key] == frozen[key]
    margins = np.array(frozen["margins"])
    clear = (np.abs(margins) > 1e-6) | (margins == 0.0)  # the rest is a mean of zeros, up to rounding
    assert clear.sum() >= len(margins) - 1
    np.testing.assert_array_equal(np.array(list(found["mistakes"]))[clear], np.array(list(frozen["mistakes"]))[clear])
    for key in ("margins", "weights"):
        np.testing.assert_allclose(found[key], frozen[key], rtol=rtol, atol=rtol)
