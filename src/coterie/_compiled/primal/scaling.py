r"""Preprocessing of records in compiled code: z-scores, a constant, unit length, and missing-value indicators.

The running scale of a feature is that of :mod:`coterie._compiled.core.moments`, over the records so far and the present
one: a row of ``moments`` is a feature's :class:`~coterie._compiled.core.moments.Moments`, and a weight of -1 there says
that it is never scaled.

Dictionaries may leave out names. Let $1 - \rho$ be the share of absences among the records since a name first came; one
more absence counts if that was after the first record. Let z be the z-score over the records that have the name. Then a
number has two features, and an absent name none:

$$\text{value} = z / \sqrt{9 - 8\rho}, \qquad \text{presence} = \sqrt{1 - \rho}.$$

If the name is never absent, the presence is 0; if its values are all equal, the value is 0. So a name needs a second
column only if it is sometimes absent and varies; until then its own column holds the feature that is not 0.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from coterie._compiled.core.arithmetic import to_unit_length
from coterie._compiled.core.generic import no_refcount
from coterie._compiled.core.moments import LOW, LOW_WEIGHT, WIDTH, count, is_constant, z_score

#: Columns of ``Preparing.columns``: the records that do not count for a feature, because they came before it or have a
#: missing value in its place; its second column or -1; 1 if the second column holds its value, 0 if its presence.
UNCOUNTED, SECOND, SWAPPED = 0, 1, 2
#: The strength of the shrinkage of z-scores of rare names: value² = z² / (1 + RARE · (1 - ρ)).
RARE = 8.0


class Preparing(NamedTuple):
    """Arrays and options for the preprocessing of records with named features: moments, and counts of absences.

    ``before`` stores the moments that a record changes, and ``constant`` is the feature of the constant or -1. Records
    must have ``width`` entries, unless that is 0. Then names may be absent: ``records`` has the number of learned
    records, and a row of ``columns`` counts the absences of a feature.
    """

    moments: Any
    before: Any
    constant: int
    width: int
    scaled: bool
    unit: bool
    columns: Any
    records: Any


@no_refcount
def prepare_columns(values, moments, missing, scaled, unit, update, out):
    """Standardise the columns of ``values`` to ``out``; if ``unit``, then scale rows to unit length.

    NaN is missing: 0, and 1 in the column ``missing[j]`` of ``out`` unless that is -1.
    """
    for t in range(values.shape[0]):
        for j in range(values.shape[1]):
            x = values[t, j]
            if x != x:
                out[t, j] = 0.0
                if missing[j] >= 0:
                    out[t, missing[j]] = 1.0
            else:
                out[t, j] = z_score(x, moments, j, update) if scaled else x
        if unit:
            total = 0.0
            for j in range(out.shape[1]):
                total += out[t, j] * out[t, j]
            norm = math.sqrt(total)
            if norm > 0.0:
                for j in range(out.shape[1]):
                    out[t, j] /= norm


@no_refcount
def prepare_entries(preparing, values, features, n, behind, update):
    """Preprocess the n entries of one record in place; return their new number.

    ``behind`` is the position of free space.

    The constant comes after them, before this many unscaled others. The entries of second columns come last, and need
    room for n more. The previous moments are stored for :func:`undo_record`. Returns -1, and changes nothing, for a
    record of another width, or if a feature needs a second column.
    """
    # all reasons to return -1 come before the first change
    if preparing.width > 0 and n != preparing.width:
        return -1
    if update and are_dictionaries(preparing):
        for k in range(n):
            if needs_second_column(preparing, features[np.uint64(k)], values[np.uint64(k)]):
                return -1
        preparing.records[0] += 1
    total = n + behind + (1 if preparing.constant >= 0 else 0)
    if preparing.scaled:
        total = scale_entries(preparing, values, features, n, total, update)
    if preparing.constant >= 0:
        # after the scaling, which leaves the constant as it is, and before unit length, which counts it
        values[np.uint64(n)] = 1.0
        features[np.uint64(n)] = preparing.constant
    if preparing.unit:
        to_unit_length(values, 0, total)
    return total


@no_refcount
def are_dictionaries(preparing):
    """Return True if records are dictionaries with scaled numbers, in which names may be absent."""
    return preparing.scaled and preparing.width == 0


@no_refcount
def scale_entries(preparing, values, features, n, total, update):
    """Scale the numbers among the n entries of a record; return the number of entries with second columns."""
    for k in range(n):
        j = np.uint64(features[np.uint64(k)])
        if preparing.moments[j, 0] >= 0.0:
            # the row of before, from which undo_record restores the moments
            if update:
                for m in range(WIDTH):
                    preparing.before[k, m] = preparing.moments[j, m]
            values[np.uint64(k)] = z_score(values[np.uint64(k)], preparing.moments, j, update)
            if are_dictionaries(preparing) and absences(preparing, j, preparing.records[0]) > 0.0:
                total = split_presence(preparing, values, features, k, total)
    return total


@no_refcount
def absences(preparing, j, records):
    """Return the number of records without feature j since its first appearance."""
    return records - preparing.columns[j, UNCOUNTED] - count(preparing.moments[j])


@no_refcount
def share_of_absences(preparing, j, records):
    """Return the fraction of records without feature j since its first appearance."""
    present, absent = count(preparing.moments[j]), absences(preparing, j, records)
    return absent / (absent + present) if absent > 0.0 and present > 0.0 else 0.0


@no_refcount
def needs_second_column(preparing, j, x):
    """Return True if feature j needs a second column to learn the value x, and does not have one."""
    j = np.uint64(j)
    row = preparing.moments[j]
    if row[0] < 0.0 or preparing.columns[j, SECOND] >= 0 or absences(preparing, j, preparing.records[0]) <= 0.0:
        return False
    return row[LOW_WEIGHT] > 0.0 and (x != row[LOW] or not is_constant(row))


@no_refcount
def split_presence(preparing, values, features, k, total):
    """Split entry k, a z-score, into a value and a presence indicator; return the new number of entries.

    The entry for the second column is appended, or omitted if the feature has none.
    """
    j = np.uint64(features[np.uint64(k)])
    share = share_of_absences(preparing, j, preparing.records[0])
    value, presence = values[np.uint64(k)] / math.sqrt(1.0 + RARE * share), math.sqrt(share)
    second = preparing.columns[j, SECOND]
    if preparing.columns[j, SWAPPED] == 1 if second >= 0 else is_constant(preparing.moments[j]):
        value, presence = presence, value
    values[np.uint64(k)] = value
    if second >= 0 and presence != 0.0:
        values[np.uint64(total)] = presence
        features[np.uint64(total)] = second
        total += 1
    return total


@no_refcount
def scale_numbers(values, preparing, first, update, presences):
    """Scale k features from ``first`` on, given as rows of ``values`` (k, n), and write their presence indicators.

    NaN is missing and stays so; infinity is absent and becomes 0. Record t is learned if ``update[t]``.
    ``preparing.records`` is that before these records.
    """
    for i in range(values.shape[0]):
        j, records = first + i, preparing.records[0]
        for t in range(values.shape[1]):
            x, presences[i, t] = values[i, t], 0.0
            records += 1 if update[t] else 0
            if x != x:
                preparing.columns[j, UNCOUNTED] += 1 if update[t] else 0
            elif x == math.inf:
                values[i, t] = 0.0
            else:
                if update[t] and count(preparing.moments[j]) == 0.0:
                    was_missing = preparing.columns[j, UNCOUNTED] > 0
                    preparing.columns[j, UNCOUNTED] = records - 1 if was_missing else max(records - 2, 0)
                z = z_score(x, preparing.moments, j, update[t])
                share = share_of_absences(preparing, j, records)
                values[i, t], presences[i, t] = z / math.sqrt(1.0 + RARE * share), math.sqrt(share)


@no_refcount
def undo_record(preparing, features, n):
    """Restore the moments before the latest record, which had n entries of these features."""
    if preparing.scaled:
        if are_dictionaries(preparing):
            preparing.records[0] -= 1
        # backwards: a feature that occurs twice was first saved by its first entry
        for k in range(n - 1, -1, -1):
            j = np.uint64(features[k])
            if preparing.moments[j, 0] >= 0.0:
                for m in range(WIDTH):
                    preparing.moments[j, m] = preparing.before[k, m]


#: Of records that are learned as they are.
UNPREPARED = Preparing(
    np.zeros((0, WIDTH)), np.zeros((0, WIDTH)), -1, 0, False, False, np.zeros((0, 3), np.int64), np.zeros(1, np.int64)
)
