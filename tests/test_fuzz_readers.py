"""Mutated files: each is read or refused by `InputError`, in bounded time and memory.

``COTERIE_FUZZ=100000 pytest tests/test_fuzz_readers.py`` makes this many a format; `tools/check --slow` 250, the plain run a tenth.
Every byte of small Parquet and Arrow files is altered as well, and the files are read by a process of their own, which a
library may end.
"""

import contextlib
import gc
import gzip
import io
import json
import os
import random
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from coterie.data import lines
from coterie.data.errors import InputError
from coterie.data.readers import read
from slow import slow
from terminal import fork

ROUNDS = int(os.environ.get("COTERIE_FUZZ", "250"))
SECONDS_AN_INPUT = 5.0
# once what is loaded and cached at first use is there
MEGABYTES_OF_GROWTH = 100.0

RECORDS = [
    {"y": i % 2 == 0, "u": f"u{i % 3}", "x": i / 4, "s": ["a", "bé", None][i % 3]}
    | {"t": "one, two\nthree" * (i % 2), "l": ["p", "q"]}
    for i in range(12)
]
TABLE = pa.Table.from_pylist(RECORDS)
CSV = "y,u,x,s,t\n" + "".join(f'{r["y"]},{r["u"]},{r["x"]},{r["s"] or ""},"{r["t"]}"\r\n' for r in RECORDS)
SVMLIGHT = "".join(f"{(-1) ** i} qid:{i % 3} {i}:0.5 {i + 3}:-1e-3 7:12345678901234567890 # c\n" for i in range(12))
VOWPAL = "".join(f"{(-1) ** i} 1.5 'tag{i}|u u{i % 3} |f:2 a b:0.5 wörd:1e3 | c\n" for i in range(12))


def ipc(writer: Callable[..., Any], **options: Any) -> bytes:
    sink = io.BytesIO()
    with writer(sink, TABLE.schema, options=pa.ipc.IpcWriteOptions(**options)) as out:
        out.write_table(TABLE, max_chunksize=5)
    return sink.getvalue()


def parquet_bytes(**options: Any) -> bytes:
    sink = io.BytesIO()
    parquet.write_table(TABLE, sink, row_group_size=5, **options)
    return sink.getvalue()


def compressed(codec: str) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, codec) as out:
        out.write(CSV.encode())
    return sink.getvalue().to_pybytes()


PLAIN: dict[str, Any] = {"compression": "none", "use_dictionary": False}
SEEDS: dict[str, list[bytes]] = {
    "csv": [CSV.encode(), CSV.replace(",", ";").encode(), b"y,u,x\n1,2,3\n"],
    "tsv": [CSV.replace(",", "\t").encode()],
    "jsonl": ["".join(json.dumps(record) + "\n" for record in RECORDS).encode()],
    "parquet": [parquet_bytes(**options) for options in ({}, {"compression": "zstd"}, PLAIN)],
    "arrow": [ipc(pa.ipc.new_file), ipc(pa.ipc.new_stream), ipc(pa.ipc.new_file, compression="lz4")],
    "svm": [SVMLIGHT.encode()],
    "vw": [VOWPAL.encode()],
    "csv.gz": [gzip.compress(CSV.encode(), mtime=0)],
    "csv.bz2": [compressed("bz2")],
    "csv.zst": [compressed("zstd")],
    "csv.lz4": [compressed("lz4")],
}
TOKENS = [
    b"\n", b"\r", b"\r\n", b'"', b'""', b",", b";", b"\t", b" ", b"|", b":", b"#", b"'", b"{", b"}", b"[", b"]", b"\\",
    b"\\u", b"\0", b"\xff", b"\xc3", b"\xef\xbb\xbf", b"nan", b"inf", b"-", b"+", b"e", b"1e999", b"1e-999", b"0x1",
    b"9" * 30, b"null", b"true", b'"y"', b"qid:", b"y,u,x", b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\0\0\0\0",
    b"\xed\xa0\x80", "é".encode(), b"[" * 300, b"[" * 9000, b"a" * 300,
]  # fmt: skip


def mutate(data: bytes, rng: random.Random) -> bytes:
    """A few random edits: bytes changed, runs dropped, repeated or moved, telling words put in, the end cut off."""
    out = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 2, 3, 8])):
        i = rng.randrange(len(out) + 1)
        j = min(len(out), i + rng.choice([1, 1, 2, 4, 16, 200]))
        edit = rng.randrange(7)
        if edit == 0 and i < len(out):
            out[i] ^= 1 << rng.randrange(8)
        elif edit == 1 and i < len(out):
            out[i] = rng.randrange(256)
        elif edit == 2:
            del out[i:j]
        elif edit == 3:
            out[i:i] = out[i:j]
        elif edit == 4:
            out[i:i] = rng.choice(TOKENS)
        elif edit == 5:
            out[i:j] = rng.choice(TOKENS)
        elif rng.random() < 0.3:
            del out[i:]
    return bytes(out)


def options(kind: str, rng: random.Random) -> dict[str, Any]:
    chosen: dict[str, Any] = {
        "on_error": rng.choice(["stop", "skip"]),
        "block_rows": rng.choice([1, 3, 8192]),
        "bits": rng.choice([4, 18]),
        "scale": rng.choice(["none", "unit", "auto"]),
        "constant": rng.random() < 0.5,
    }
    if kind == "vw":
        return chosen | {"task": rng.choice([None, "u"])}
    if kind == "svm":
        return chosen
    return chosen | {"label": rng.choice([None, "y"]), "task": rng.choice([None, "u"]), "text": rng.choice([(), "t"])}


def consume(path: Path, chosen: dict[str, Any]) -> None:
    """Read all blocks and check what every block promises."""
    reader = read(path, **chosen)
    rows = 0
    for block in reader:
        n = len(block)
        rows += n
        assert 0 < n <= chosen["block_rows"]
        assert block.X.shape == (n, reader.encoder.n_features)
        assert np.isfinite(block.X if isinstance(block.X, np.ndarray) else block.X.data).all()
        assert all(array is None or len(array) == n for array in (block.y, block.task))
        assert (np.diff(block.place) > 0).all()
        assert block.place[0] > 0
        if not isinstance(block.X, np.ndarray):
            assert block.X.indptr[-1] == len(block.X.data)
            assert not len(block.X.indices) or 0 <= block.X.indices.min() <= block.X.indices.max() < block.X.shape[1]
    assert rows == reader.rows


def megabytes() -> float:
    """Memory that the process holds."""
    pages = int(Path("/proc/self/statm").read_text().split()[1]) if Path("/proc/self/statm").exists() else 0
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


@pytest.mark.parametrize("rounds", [ROUNDS // 25, slow(ROUNDS)])
@pytest.mark.parametrize("kind", SEEDS)
def test_mutated_files(tmp_path: Path, kind: str, rounds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / f"data.{kind}"
    warm, refused, sentences = 0.0, 0, {False}
    gc.freeze()  # or each search for garbage below would look at all that a session of tests has loaded
    for turn in range(rounds):
        rng = random.Random(f"{kind} {turn}")  # noqa: S311
        piece, longest = rng.choice([(7, 200), (64, 4096), (1 << 20, 1 << 24)])
        monkeypatch.setattr(lines, "PIECE_BYTES", piece)
        monkeypatch.setattr(lines, "FEW_RECORDS", 0)
        monkeypatch.setattr(lines, "LONGEST_RECORD", longest)
        data = mutate(rng.choice(SEEDS[kind]), rng) if turn else SEEDS[kind][0]
        path.write_bytes(data)
        chosen = options(kind, rng)
        begin = time.process_time()
        try:
            consume(path, chosen)
        except InputError as error:
            refused += 1
            sentences.add("\n" in str(error))
        except BaseException:
            print(f"turn {turn}, {chosen}: {data!r}")
            raise
        if turn:  # the first one compiles
            assert time.process_time() - begin < SECONDS_AN_INPUT, f"turn {turn} took too long"
        if turn % 10 == 0:
            gc.collect()  # which a session of tests does rarely by itself
        if turn == rounds // 5:
            warm = megabytes()
    assert sentences == {False}, "a message is one line"
    assert 0 < refused < rounds
    assert megabytes() - warm < MEGABYTES_OF_GROWTH


# -- one byte ----------------------------------------------------------------------------------------------------------

SMALL = pa.table({"y": [True, False, True], "s": ["a", "b", "a"], "x": [1.0, 2.0, None]})
WITH_LISTS = pa.table({"y": [1, 0], "c": pa.array(["a", "b"]).dictionary_encode(), "l": [["p"], ["q", "r"]]})


def small_files(kind: str, bits: int) -> Iterator[bytes]:
    """Small files of a format, of which every byte is altered; one table if it is one bit of each."""
    writers = [pa.ipc.new_file, pa.ipc.new_stream] if kind == "arrow" else [parquet.ParquetWriter]
    for table in (SMALL, WITH_LISTS)[:bits]:
        for writer in writers:
            sink = io.BytesIO()
            with writer(sink, table.schema) as out:
                out.write_table(table)
            yield sink.getvalue()


def read_altered(kind: str, bits: int, path: Path) -> None:
    """Read small files of which a bit is another one, of the lowest of each byte; what is read next goes to standard output, flushed."""
    for number, data in enumerate(small_files(kind, bits)):
        for place in range(len(data)):
            for bit in range(bits):
                altered = bytearray(data)
                altered[place] ^= 1 << bit
                path.write_bytes(altered)
                print(f"file {number}, byte {place}: {altered[place]} in place of {data[place]}", flush=True)
                began = time.process_time()
                with contextlib.suppress(InputError):
                    for _ in read(path, label="y"):
                        pass
                assert time.process_time() - began < SECONDS_AN_INPUT


@pytest.mark.parametrize(("kind", "bits"), [("parquet", 1), slow("parquet", 3), slow("arrow", 3)])
def test_a_byte_that_is_altered_does_not_end_the_process(tmp_path: Path, kind: str, bits: int) -> None:
    """PyArrow aborts where the metadata of a column is asked whose statistics have impossible sizes."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = fork(read_altered, kind, bits, tmp_path / f"data.{kind}", **pipes)
    out, err = process.communicate(timeout=600)
    lines = out.splitlines()
    assert process.returncode == 0, f"{lines[-1:]}: {err[-2000:]}"
    assert len(lines) == bits * sum(map(len, small_files(kind, bits)))
