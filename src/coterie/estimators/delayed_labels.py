"""Storage of encoded records and their predictions until their labels arrive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from coterie._compiled.core.checks import require
from coterie._compiled.core.records import UNSEEN, Csr
from coterie.models.contract import Predictions


class SavedPredictions(msgspec.Struct, array_like=True):
    """The predictions of one record as bytes: its margin, and the predictions of ensemble members."""

    margins: bytes
    classes: bool
    experts: bytes | None
    members: list[SavedPredictions]

    @classmethod
    def from_predictions(cls, predictions: Predictions) -> SavedPredictions:
        """Convert the predictions of one record to bytes."""
        experts = None if predictions.experts is None else predictions.experts.tobytes()
        return cls(
            predictions.margins.tobytes(),
            predictions.margins.ndim > 1,
            experts,
            [cls.from_predictions(member) for member in predictions.members],
        )

    def restored(self) -> Predictions:
        """Return the saved predictions as `Predictions` of one record."""
        margins = np.frombuffer(self.margins).copy()  # compiled code requires writable arrays
        experts = None if self.experts is None else np.frombuffer(self.experts)[:, None].copy()
        members = tuple(member.restored() for member in self.members)
        return Predictions(margins[None] if self.classes else margins, experts, members)

    @property
    def shape(self) -> tuple[Any, ...]:
        """The shapes of the predictions; only records with equal shapes can be learned in one batch."""
        experts = None if self.experts is None else len(self.experts)
        return len(self.margins), self.classes, experts, tuple(member.shape for member in self.members)


class WaitingRow(msgspec.Struct, array_like=True):
    """A predicted record that waits for its delayed label.

    Attributes
    ----------
    values, features : bytes or None
        The encoded row; None if the record is encoded when its label arrives.
    predictions : SavedPredictions or None
        The predictions, for models with members whose losses depend on them; None before the first update.
    asked : bool or None
        True if the label was queried; None if all are.
    """

    values: bytes | None = None
    features: bytes | None = None
    predictions: SavedPredictions | None = None
    asked: bool | None = None

    @property
    def shape(self) -> tuple[Any, ...] | None:
        """The shape of the encoded record (None before encoding); only equal shapes can be learned in one batch."""
        if self.values is None:
            return None
        return (self.predictions is None, () if self.predictions is None else self.predictions.shape)

    def check(self, features: int, like: Predictions | None) -> None:
        """Raise ValueError if a saved row does not fit the model.

        ``features`` is its number of features, and ``like`` an example of its predictions.
        """
        require(
            self.predictions is None or is_like(self.predictions.restored(), like),
            "the predictions of a waiting record do not fit the model",
        )
        if self.values is None or self.features is None:
            require({self.values, self.features} == {None}, "a waiting record has an incomplete row")
            return
        values, columns = np.frombuffer(self.values), np.frombuffer(self.features, np.int32)
        require(
            len(values) == len(columns) and bool(np.isfinite(values).all()), "the row of a waiting record is invalid"
        )
        has_column = (columns >= 0) & ((columns < features) | (columns >= UNSEEN))
        require(bool(has_column.all()), "a waiting record has features beyond the model's")


def waiting_rows(rows: Csr, predictions: Predictions | None) -> list[WaitingRow]:
    """Split a batch of rows and their predictions into waiting records."""
    saved_rows = []
    for t in range(rows.n_records):
        entries = slice(int(rows.starts[t]), int(rows.starts[t + 1]))
        saved = None if predictions is None else SavedPredictions.from_predictions(predictions.cut(t, t + 1))
        saved_rows.append(WaitingRow(rows.values[entries].tobytes(), rows.features[entries].tobytes(), saved))
    return saved_rows


def joined_rows(waiting: Sequence[WaitingRow]) -> tuple[Csr, Predictions | None]:
    """Combine waiting records of equal shape to one batch of rows, and their predictions to one object."""
    values = [np.frombuffer(row.values or b"") for row in waiting]
    features = np.concatenate([np.frombuffer(row.features or b"", np.int32) for row in waiting])
    starts = np.append(0, np.cumsum([len(row) for row in values]))
    predictions = [row.predictions.restored() for row in waiting if row.predictions is not None]
    return Csr(np.concatenate(values), features, starts), Predictions.concatenate(predictions) if predictions else None


def is_like(predictions: Predictions, like: Predictions | None) -> bool:
    """Return True if predictions are finite and have the shapes of the example ``like``.

    They may have fewer classes.
    """
    if like is None or predictions.margins.ndim != like.margins.ndim or len(predictions.members) > len(like.members):
        return False
    experts = () if predictions.experts is None else np.shape(predictions.experts)
    # classes may have come since the record was predicted; members of these are missing at the end
    fits = predictions.margins.shape[1:] <= like.margins.shape[1:] and experts == np.shape(like.experts)[: len(experts)]
    finite = np.isfinite(predictions.margins).all() and (
        predictions.experts is None or np.isfinite(predictions.experts).all()
    )
    return bool(fits and finite) and all(map(is_like, predictions.members, like.members))
