"""Parameters of a test that are left to `tools/check --slow`, for they compile what shows little that others do not."""

import pytest


def slow(*values):
    return pytest.param(*values, marks=pytest.mark.slow)


def but_slowly(values, *these):
    """All these tuples of values, some of them slowly."""
    return [slow(*value) if value in these else value for value in values]


def slow_where(values, condition):
    """All these tuples of values, slowly those of which the condition holds."""
    return [slow(*value) if condition(*value) else value for value in values]
