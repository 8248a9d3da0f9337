"""Settings of dataclass fields: help text, range and command-line option, declared in the field's metadata.

``field`` puts a `Setting` into a field's metadata: a sentence of help and the range. From there come

* the check of the range when the dataclass is made (`check_fields`; parts do it by themselves), so that
  ``__post_init__`` only checks combinations of fields;
* the options of commands that are declared as such dataclasses, with their types and help.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any, Literal, TypeGuard

import numpy as np

#: Numbers of any use, so that neither they nor their inverses overflow when they are squared; whole ones.
LEAST, MOST, WHOLE = 1e-100, 1e100, 2**63

_KEY = "coterie.setting"


@dataclass(frozen=True)
class Setting:
    """The help text and the range of a dataclass field.

    Attributes
    ----------
    help : str
        A sentence or two for the documentation, in Markdown.
    kind : {"number", "whole", "text", "flag"}
        The type of the value; None is also allowed if it is the default.
    above, at_least, at_most, below : number, optional
        Bounds of a number, which is finite unless ``infinite``.
    choices : tuple of str
        The allowed texts, if only some are; they include None if it is allowed.
    words : tuple of str
        Texts that are allowed instead of a number.
    must : str
        The requirement in the error message, if it is more than the bounds.
    unit : str
        The plural noun that a whole number counts.
    qualify_name : bool
        True if the error message names the part's class.
    several : bool
        True if the field may also have several numbers, which are not checked here.

    Examples
    --------
    >>> Setting(kind="whole", at_least=1, unit="support vectors").check("size", 0)
    Traceback (most recent call last):
    ValueError: size must be a whole number of support vectors, at least 1, got 0
    """

    help: str = ""
    kind: Literal["number", "whole", "text", "flag"] = "number"
    above: float | None = None
    at_least: float | None = None
    at_most: float | None = None
    below: float | None = None
    infinite: bool = False
    choices: tuple[str | None, ...] = ()
    words: tuple[str, ...] = ()
    must: str = ""
    unit: str = ""
    qualify_name: bool = False
    several: bool = False

    def check(self, name: str, value: object) -> None:
        """Raise ValueError, naming the value, if it is out of range."""
        if not self._allows(value):
            raise ValueError(f"{name} must {self.must or self._demand()}, got {value!r}")
        if is_number(value) and not self._computable(value):
            size = "a number of 64 bits" if self.kind == "whole" else f"of a size from {LEAST:g} to {MOST:g}"
            raise ValueError(f"{name} must be {size}, got {value!r}")

    @property
    def bounded(self) -> bool:
        """True if the setting has a range or choices."""
        bounds = (self.above, self.at_least, self.at_most, self.below)
        return bool(self.choices) or self.kind in ("whole", "flag") or any(bound is not None for bound in bounds)

    def _allows(self, value: object) -> bool:
        if self.kind == "flag":
            return isinstance(value, (bool, np.bool_))
        if self.kind == "text" or (self.words and isinstance(value, str)):
            return not (self.choices or self.words) or value in (*self.choices, *self.words)
        if not is_number(value) or (self.kind == "whole" and not isinstance(value, (int, np.integer))):
            return False
        return (
            (self.infinite or -np.inf < value < np.inf)
            and (self.above is None or value > self.above)
            and (self.at_least is None or value >= self.at_least)
            and (self.at_most is None or value <= self.at_most)
            and (self.below is None or value < self.below)
        )

    def _computable(self, value: float) -> bool:
        """Return True for a number of which the square does not overflow; an integer must have at most 64 bits."""
        if self.kind == "whole":
            return -WHOLE <= value < WHOLE
        try:
            size = abs(float(value))
        except OverflowError:  # of a whole number of hundreds of digits
            return False
        return size == 0 or LEAST <= size <= MOST or (self.infinite and size == np.inf)

    def _demand(self) -> str:
        if self.kind == "flag":
            return "be True or False"
        if self.choices:
            return f"be {either(map(repr, self.choices))}"
        if self.at_least is not None and self.at_most is not None:
            return f"lie between {self.at_least:g} and {self.at_most:g}"
        ends = self.at_most is not None or self.below is not None
        number = {"whole": "a whole number"}.get(self.kind, "a number" if self.infinite or ends else "a finite number")
        number += f" of {self.unit}" if self.unit else ""
        if self.below is not None:
            if self.at_least is not None:
                number += f" from {self.at_least:g} to"
            elif self.above is not None:
                number += f" above {self.above:g} and"
            number += f" below {self.below:g}"
        elif self.above is not None:
            number += f" above {self.above:g}" + ("" if self.at_most is None else f" and at most {self.at_most:g}")
        elif self.at_least is not None:
            number += f", at least {self.at_least:g}"
        return f"be {either([*map(repr, self.words), number])}"


def either(words: Iterable[str]) -> str:
    """Join words with commas and "or".

    >>> either(["a", "b", "c"])
    'a, b or c'
    """
    *most, last = words
    return f"{', '.join(most)} or {last}" if most else last


def field(setting: Setting | None = None, *, default: Any = dataclasses.MISSING, **attributes: Any) -> Any:
    """Declare a field of a dataclass with its `Setting`.

    Parameters
    ----------
    setting : Setting, optional
        The setting of another field with the same meaning.
    default
        The field's default; True and False make it a flag.
    **attributes
        Attributes of a `Setting`, which take precedence over those of ``setting``.

    Examples
    --------
    >>> @dataclass
    ... class Size:
    ...     width: float = field(default=1.0, above=0, help="How wide.")
    >>> settings_of(Size)["width"].help
    'How wide.'
    """
    if isinstance(default, bool):
        attributes = {"kind": "flag"} | attributes
    elif attributes.get("choices"):
        attributes = {"kind": "text"} | attributes
    declared: Any = dataclasses.field(
        default=default, metadata={_KEY: dataclasses.replace(setting or Setting(), **attributes)}
    )
    return declared


def learned(*, init: Literal[False] = False) -> Any:
    """Declare a fitted attribute of an estimator (not a parameter)."""
    return dataclasses.field(init=init)


def settings_of(cls: type) -> Mapping[str, Setting]:
    """Return the settings of a dataclass's fields by name, in order."""
    return MappingProxyType({field.name: field.metadata[_KEY] for field in fields(cls) if _KEY in field.metadata})


def check_fields(self: object) -> None:
    """Raise ValueError, naming the field, if a field's value is out of range."""
    for name, label, optional, setting in _checks(type(self)):
        value = getattr(self, name)
        if not (optional and value is None) and not (setting.several and isinstance(value, (tuple, list))):
            setting.check(label, value)


def _checks(cls: type) -> list[tuple[str, str, bool, Setting]]:
    """Return for each field with a range its name, its name in errors, True if it may be None, and its setting."""
    if cls not in _CHECKS:
        optional = {field.name: field.default is None for field in fields(cls)}
        _CHECKS[cls] = [
            (name, f"{name} of {cls.__name__}" if setting.qualify_name else name, optional[name], setting)
            for name, setting in settings_of(cls).items()
            if setting.bounded
        ]
    return _CHECKS[cls]


_CHECKS: dict[type, list[tuple[str, str, bool, Setting]]] = {}


def check_positive(name: str, value: object) -> None:
    """Raise ValueError, naming the value, unless it is a finite number above 0."""
    Setting(above=0).check(name, value)


def check_not_negative(name: str, value: object) -> None:
    """Raise ValueError, naming the value, unless it is a finite number of at least 0."""
    Setting(at_least=0).check(name, value)


def check_count(name: str, value: object) -> None:
    """Raise ValueError, naming the value, unless it is an integer of at least 1."""
    Setting(kind="whole", at_least=1).check(name, value)


def is_number(value: object) -> TypeGuard[float]:
    """Return True for a Python or NumPy number other than bool."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
