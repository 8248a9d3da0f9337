"""The scaling of dictionaries that leave out names, from its definition: all records are looked through for every value."""

import math
from collections.abc import Mapping, Sequence

from reference.moments import Moments

LIMIT = 5.0


def is_missing(value: float | None) -> bool:
    return value is None or value != value


def scaled(records: Sequence[Mapping[str, float | None]], t: int) -> dict[tuple[str, str], float]:
    """The features of record t after the records up to it: the value, the presence, and what is missing, by name."""
    features = {}
    for name, value in records[t].items():
        if is_missing(value):
            features[name, "missing"] = 1.0
            continue
        z, absent = z_score(records[: t + 1], name), share_of_absences(records[: t + 1], name)
        features[name, "value"] = z / math.sqrt(9.0 - 8.0 * (1.0 - absent))
        features[name, "presence"] = math.sqrt(absent)
    return features


def z_score(records: Sequence[Mapping[str, float | None]], name: str) -> float:
    """The z-score of the last value, over all records that have one."""
    moments = Moments()
    values = [float(record[name] or 0.0) for record in records if not is_missing(record.get(name))]
    for value in values:
        moments.learn(value)
    return moments.score(values[-1], LIMIT)


def share_of_absences(records: Sequence[Mapping[str, float | None]], name: str) -> float:
    """1 - rho: absences among the records since the first value, and one more if records before lacked the name."""
    first = next(t for t, record in enumerate(records) if not is_missing(record.get(name)))
    absent = sum(name not in record for record in records[first:])
    absent += first > 0 and all(name not in record for record in records[:first])
    present = sum(not is_missing(record.get(name)) for record in records)
    return absent / (absent + present)
