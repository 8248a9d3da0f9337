"""What records that are refused must not leave behind."""

from __future__ import annotations

from typing import Any

#: What a model notes of the form of its records while it checks them.
NOTED = ("n_features_in_", "feature_names_in_", "view_")


class all_or_nothing:  # noqa: N801 - used as a statement
    """Take back what a model has noted of the form of its records if they are refused inside."""

    __slots__ = ("_before", "_held", "_moments", "_names")

    def __init__(self, model: Any) -> None:
        self._held: dict[str, Any] = model.__dict__
        self._before = {name: self._held[name] for name in NOTED if name in self._held} if model.fitted else {}
        self._names = len(self._before.get("view_", ()))
        self._moments = self._held["encoder_"].moments.copy() if "encoder_" in self._held else None

    def __enter__(self) -> None:
        """Nothing to do: what there was has been noted."""

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        if kind is None:
            return
        for name in NOTED:
            self._held.pop(name, None)
        self._held.update(self._before)
        if "view_" in self._before:
            self._before["view_"].shorten(self._names)
        if self._moments is not None:
            self._held["encoder_"].moments = self._moments
