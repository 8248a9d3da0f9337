"""Frozen hyperparameters and their JSON form."""

import datetime
import json
from enum import Enum

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie import spec
from coterie.tasks import Clusters

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary()
scalars |= st.dates() | st.datetimes(timezones=st.none() | st.just(datetime.UTC))
labels = st.recursive(scalars, lambda children: st.lists(children, max_size=3).map(tuple), max_leaves=6)
values = st.recursive(
    scalars,
    lambda children: (
        st.lists(children, max_size=4)
        | st.lists(children, max_size=4).map(tuple)
        | st.dictionaries(labels, children, max_size=4)
    ),
    max_leaves=20,
)
numbers = st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False)


def there_and_back(value):
    return spec.from_json(json.loads(json.dumps(spec.to_json(value))))


def of_same_types(one, other):
    """Whether two nests are equal down to their types, so that True is not 1."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        pairs = zip(one.items(), other.items(), strict=True)
        return len(one) == len(other) and all(of_same_types(*pair) for pair in pairs)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(of_same_types, one, other))
    return one == other


@given(values)
def test_values_come_back_as_they_were(value):
    assert of_same_types(there_and_back(value), value)


def test_a_part_keeps_what_it_was_given():
    groups = {"ann": "bakers"}
    part = Clusters(groups)
    groups |= {"ann": "smiths", "bob": "smiths"}
    assert part.groups == {"ann": "bakers"}


@given(st.lists(numbers, max_size=5), st.sampled_from(["float64", "float32", "int64", "bool", "uint8"]))
def test_arrays_come_back_as_they_were(original, dtype):
    with np.errstate(all="ignore"):
        array = np.array(original, dtype=object).astype(float).astype(dtype)
    again = there_and_back(array)
    assert again.dtype == array.dtype
    np.testing.assert_array_equal(again, array)
    again[:] = 0  # its own memory, and writeable


@given(st.lists(labels, max_size=5))
def test_arrays_of_labels_come_back_as_they_were(original):
    array = np.empty(len(original), dtype=object)
    for place, label in enumerate(original):
        array[place] = label
    again = there_and_back(array)
    assert again.shape == array.shape
    assert of_same_types(again.tolist(), array.tolist())


def test_numpys_scalars_become_plain():
    class Kind(str, Enum):  # noqa: UP042 - it shows as "Kind.A", unlike a StrEnum
        A = "a"

    numbers = (np.float32(0.5), 0.5), (np.int8(-3), -3), (np.bool_(True), True), (np.str_("x"), "x")
    for value, plain in (*numbers, (np.datetime64("2024-01-02"), datetime.date(2024, 1, 2)), (Kind.A, "a")):
        assert of_same_types(there_and_back(value), plain)
        assert type(spec.to_json(value)) is not type(value)


@pytest.mark.parametrize("value", [3j, {1, 2}, object(), range(3), datetime.timedelta(1)])
def test_what_has_no_json_form_is_refused(value):
    with pytest.raises(TypeError, match=f"a {type(value).__name__} .* has no JSON form"):
        spec.to_json([{"deep": (value,)}])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"$part": "Quantum", "fields": {}}, "unknown part 'Quantum': this version supports AROW, Absolute, Adaptive"),
        ({"$eval": "1"}, r"unknown JSON tag '\$eval': expected one of \$part, \$model, \$array"),
        ({"plain": 1}, "unknown JSON tag None"),
        ({}, "unknown JSON tag None"),
        ([{"$tuple": [{"$odd": 1}]}], r"unknown JSON tag '\$odd'"),
        ({"$part": "MeanRegularized", "fields": {"b": -3}}, "b must be a finite number above -1"),
    ],
)
def test_data_that_say_nothing_known_are_refused(data, message):
    with pytest.raises(ValueError, match=message):
        spec.from_json(data)


def test_parts_do_not_take_fields_they_do_not_have():
    with pytest.raises(TypeError, match="unexpected keyword argument 'c'"):
        spec.from_json({"$part": "MeanRegularized", "fields": {"c": 3}})
