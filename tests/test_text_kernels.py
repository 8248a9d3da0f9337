"""Compiled text readers against the literal ones of tests/reference/text.py."""

import math
import re
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numba import njit

from coterie._compiled.core import text_fields as fields
from coterie._compiled.core.hashing import as_bytes, bit_mask, feature_hash, hash_strings, prefix_state
from coterie._compiled.text.csv import split_csv
from coterie._compiled.text.eight_bytes import append_digits, digits_in, name_in
from coterie._compiled.text.names import NO_NAMES
from coterie._compiled.text.numbers import parse_number
from coterie._compiled.text.parsed import ParsedRows
from coterie._compiled.text.rows import merge_repeats, standardise
from coterie._compiled.text.svmlight import NO_QUERY, parse_svmlight
from coterie._compiled.text.vowpal import parse_vowpal
from coterie._compiled.text.words import hash_texts, token_bound
from reference import moments
from reference import text as reference

WORDS = st.text(max_size=40)
ASCII = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=40)


def number(text):
    data = as_bytes(text.encode())
    return parse_number(data, 0, len(data))


def packed(strings):
    """Arrow's data and offsets."""
    encoded = [string.encode() for string in strings]
    offsets = np.concatenate([[0], np.cumsum([len(b) for b in encoded])]).astype(np.int64)
    return as_bytes(b"".join(encoded) or b"\0"), offsets


def lines(texts):
    data, offsets = packed([text + "\n" for text in texts])
    return data, offsets[:-1], offsets[1:] - 1


def merged(indptr, indices, values):
    indptr, indices, values = indptr.copy(), indices.copy(), values.copy()
    merge_repeats(indptr, indices, values)
    rows = [dict(zip(indices[a:b].tolist(), values[a:b].tolist(), strict=True)) for a, b in pairwise(indptr)]
    assert sum(map(len, rows)) == indptr[-1], "an index twice"
    return rows


def same_row(actual, wanted):
    keys = actual.keys() | wanted.keys()
    return all(math.isclose(actual.get(k, 0.0), wanted.get(k, 0.0), rel_tol=1e-14, abs_tol=1e-290) for k in keys)


# -- hashing


@given(WORDS, st.integers(1, 30))
@example("", 18)
def test_feature_hash_is_the_reference(key, bits):
    assert feature_hash(key, bits) == reference.column(key, bits)


@given(WORDS, st.lists(WORDS, max_size=5))
def test_a_prefix_is_hashed_once(prefix, keys):
    data, offsets = packed(keys)
    out = np.empty(len(keys), np.int32)
    hash_strings(prefix_state(prefix), data, offsets, bit_mask(20), out)
    assert out.tolist() == [feature_hash(prefix + key, 20) for key in keys]


def test_hashes_are_spread_and_surrogates_have_one():
    counts = np.bincount([feature_hash(f"word={i}", 10) for i in range(100_000)], minlength=1024)
    expected = 100_000 / 1024
    # chi-square of 1023 degrees of freedom: mean 1023, standard deviation 45
    assert abs(((counts - expected) ** 2 / expected).sum() - 1023) < 5 * 45
    assert 0 <= feature_hash("\ud800", 18) < 2**18


# -- numbers


@given(st.floats(allow_nan=False, allow_infinity=False))
@example(0.1)
@example(5e-324)
@example(9007199254740993.0)
def test_every_double_comes_back(value):
    assert number(repr(value)) == (value if abs(value) >= 1e-290 else 0.0)


@given(st.integers(0, 10**19 - 1), st.integers(-300, 285))
@example(9007199254740993, 0)
@example(2**54 + 2, -1)
def test_up_to_19_digits_are_rounded_correctly(w, q):
    wanted = float(f"{w}e{q}")
    assert number(f"{w}e{q}") == (wanted if wanted >= 1e-290 else 0.0)


@given(st.integers(2**53, 2**54).map(lambda m: 2 * m + 1), st.integers(0, 4))
def test_ties_go_to_even(m, k):
    text = f"{m * 10**k}e-{k}"
    assert number(text) == float(text) if m * 10**k < 10**19 else True


@given(st.text("0123456789+-.eEnaif_x ", max_size=12))
def test_what_is_no_number_is_nan(text):
    try:
        wanted = float(text) if not set(text) & set("_ nif") else math.nan
    except ValueError:
        wanted = math.nan
    value = number(text)
    assert math.isnan(value) if math.isnan(wanted) else value == wanted or abs(wanted) < 1e-290


def test_many_digits():
    assert number("0." + "0" * 50 + "1" * 50) == pytest.approx(float("0." + "0" * 50 + "1" * 50), rel=2.3e-16)
    assert number("1" * 60) == pytest.approx(float("1" * 60), rel=2.3e-16)
    assert number("0" * 400 + "1.5") == 1.5
    assert number("1e999") == math.inf
    assert number("1e-99999999999999999999") == 0.0


# -- texts


def hashed_texts(name, texts, bits):
    data, offsets = packed(texts)
    bound = token_bound(offsets)
    counts, indices, values = np.empty(len(texts), np.int64), np.empty(bound, np.int32), np.empty(bound)
    total = hash_texts(prefix_state(f"{name}^"), data, offsets, bit_mask(bits), NO_NAMES, counts, indices, values)
    assert total == counts.sum() <= bound
    return merged(np.concatenate([[0], np.cumsum(counts)]), indices[:total], values[:total])


@given(WORDS, st.lists(st.one_of(WORDS, ASCII), max_size=8), st.sampled_from([2, 18]))
@example("t", ["a A a", "", "  ", "naïve café", "a" * 1000, "x,y;z"], 18)
@example("t", ["a b", " ".join(f"w{i % 700}" for i in range(5000)), "a b a"], 20)
def test_texts(name, texts, bits):
    for row, text in zip(hashed_texts(name, texts, bits), texts, strict=True):
        assert same_row(row, reference.text_row(name, text, bits))


# -- svmlight

NUMBERS = st.one_of(
    st.integers(-50, 50).map(str), st.floats(-1e6, 1e6).map(lambda v: repr(v if abs(v) > 1e-290 else 0.0))
)
BLANKS = st.sampled_from([" ", "  ", "\t"])


@st.composite
def svmlight_lines(draw):
    words = [draw(NUMBERS)] if draw(st.booleans()) else []
    words += [f"qid:{draw(st.integers(0, 99))}"] if draw(st.booleans()) else []
    words += [f"{draw(st.integers(0, 30))}:{draw(NUMBERS)}" for _ in range(draw(st.integers(0, 6)))]
    line = "".join(word + draw(BLANKS) for word in words)
    return draw(st.sampled_from(["", " "])) + line + draw(st.sampled_from(["", "# 1:2 x", "\r"]))


@given(st.lists(svmlight_lines(), min_size=1, max_size=5))
def test_svmlight(texts):
    rows = parse_svmlight(*lines(texts), 32)
    result = merged(rows.indptr, rows.indices, rows.values)
    for i, text in enumerate(texts):
        label, task, row = reference.svmlight_row(text)
        assert rows.fault[i] == (fields.GOOD if text.split("#")[0].strip() else fields.BLANK)
        assert math.isnan(rows.label[i]) if label is None else rows.label[i] == label
        assert rows.task[i, 0] == (NO_QUERY if task is None else task)
        assert same_row(result[i], row)


FAULTS = {
    fields.NOT_A_LABEL: [("x 1:2", "x"), ("nan 1:2", "nan")],
    fields.NOT_AN_INDEX: [("1 a:3", "a:3"), ("1 :3", ":3"), ("1 -1:3", "-1:3"), ("1 .5:3", ".5:3"), ("1 qi:1", "qi:1")],
    fields.INDEX_TOO_LARGE: [("1 32:3", "32:3"), (f"1 {'9' * 26}:3", f"{'9' * 26}:3")],
    fields.NOT_A_NUMBER: [
        *((f"1 {word}", word) for word in ("1:", "1:2x", "1:2:3", "1:inf", "1:1e101")),
        ("1 1:x 2:2", "1:x"),
    ],
    fields.NO_COLON: [("1 5", "5")],
    fields.NOT_A_QUERY: [("1 qid:a 1:1", "qid:a"), ("1 qid: 1:1", "qid:")],
    fields.SECOND_QUERY: [("1 qid:1 qid:2", "qid:2")],
}


@given(st.lists(st.text("a \t|:1", max_size=12), max_size=4))
def test_no_rows_hold_more_words_than_there_is_room_for(texts):
    _, start, stop = lines(texts)
    words = sum(len(text.replace("|", " ").split()) for text in texts)
    assert len(ParsedRows.with_room(start, stop, 0).values) >= words


# -- Vowpal Wabbit

BREAKS = ":| \t\n\r\v\f\x1c\x1d\x1e\x1f\x85"  # with what Python takes for a blank, as the reference does
SIGNS = st.characters(codec="utf-8", exclude_characters=BREAKS, exclude_categories=["Cs", "Z"])
NAMES = st.text(SIGNS, min_size=1, max_size=20)


@st.composite
def vowpal_lines(draw):
    line = draw(st.sampled_from(["", "1 ", "-1 2.5 ", "0.5 1 0 ", "1 'tag ", "1 tag", "'tag"]))
    for _ in range(draw(st.integers(1, 3))):
        name = draw(st.sampled_from(["", "a", "user", "a:0.5"]))
        count = 1 if name == "user" else draw(st.integers(0, 3))
        words = [draw(NAMES) + draw(st.sampled_from(["", ":2", ":-0.25", ":happy", ":a:2"])) for _ in range(count)]
        words += [] if name == "user" else draw(st.lists(st.sampled_from([":2", ":.5", ":sad", ":nano"]), max_size=12))
        line += f"|{name}" + "".join(draw(BLANKS) + word for word in words) + draw(BLANKS)
    return line


@given(st.lists(vowpal_lines(), min_size=1, max_size=4), st.sampled_from(["", "user"]))
def test_vowpal(texts, task):
    data, start, stop = lines(texts)
    rows = parse_vowpal(data, start, stop, as_bytes(task.encode()), bit_mask(18))
    result = merged(rows.indptr, rows.indices, rows.values)
    for i, text in enumerate(texts):
        label, wanted_task, row = reference.vowpal_row(text, task, 18)
        if task and wanted_task is None:
            assert rows.fault[i] == fields.NO_TASK
            continue
        assert rows.fault[i] == fields.GOOD
        assert math.isnan(rows.label[i]) if label is None else rows.label[i] == label
        assert data[slice(*rows.task[i])].tobytes().decode() == (wanted_task or "")
        assert same_row(result[i], row)


VOWPAL_FAULTS = {
    fields.NOT_A_LABEL: [("x |a b", "x"), ("1:0.5:0.2 |a b", "1:0.5:0.2")],
    fields.NOT_AN_IMPORTANCE: [("1 -2 |a b", "-2")],
    fields.HEADER_TOO_LONG: [("1 1 0 5 |a b", "5")],
    fields.NO_BAR: [("1 b c", "1 b c")],
    fields.NOT_A_NUMBER: [
        *((f"1 |a {word}", word) for word in ("b:5x", "b:-x", "b:Inf", "b:Infinity", ":nan", "b:", "b:nan")),
        *(("1 |a:x b", "a:x"), ("1 |a:1e60 b:1e60", "b:1e60")),
    ],
    fields.NO_NAME: [("1 |a :", ":")],
}


PARSERS = {
    "svmlight": ("1 1:1", lambda *where: parse_svmlight(*where, 32), FAULTS),
    "vw": ("1 |a b", lambda *where: parse_vowpal(*where, as_bytes(b""), bit_mask(18)), VOWPAL_FAULTS),
}


@pytest.mark.parametrize(
    ("kind", "code", "line", "word"),
    [(kind, code, *case) for kind, (*_, faults) in PARSERS.items() for code, cases in faults.items() for case in cases],
)
def test_faults(kind, code, line, word):
    good, parse, _ = PARSERS[kind]
    data, start, stop = lines([good, line, good])
    rows = parse(data, start, stop)
    assert rows.fault.tolist() == [fields.GOOD, code, fields.GOOD]
    assert data[slice(*rows.token[1])].tobytes().decode() == word
    assert rows.indptr.tolist() == [0, 1, 1, 2], "a faulty row has no entries"


@pytest.mark.parametrize("word", ["info", "informal", "inferior", "infinite", "infinit", "nano", "in"])
def test_words_that_begin_as_infinity_are_text(word):
    data, start, stop = lines([f"1 |a style:{word}", f"1 |a style={word}"])
    rows = parse_vowpal(data, start, stop, as_bytes(b""), bit_mask(18))
    assert rows.fault.tolist() == [fields.GOOD, fields.GOOD]
    assert rows.values[:2].tolist() == [1.0, 1.0]


def test_features_without_names_and_with_text_are_those_of_vowpal_wabbit():
    vw = pytest.importorskip("vowpalwabbit")
    lines_of = [
        "1 |f :0.5 :0.25 x :3",
        "1 |f 0:0.5 1:0.25 x 2:3",
        "1 |f:2 :1 |g :1 |f :4",
        "1 |f mood:happy mood:sad mood tone:happy",
        "1 |f:3 mood:happy 0:red :red :1",
        "1 | mood:happy :2",
        "1 |f " + " ".join(":1" for _ in range(12)) + " 11:2 10:3",
    ]
    data, start, stop = lines(lines_of)
    rows = parse_vowpal(data, start, stop, as_bytes(b""), bit_mask(18))
    workspace = vw.Workspace("--quiet -b 18 --noconstant")
    theirs, ours = [], []
    for i, line in enumerate(lines_of):
        example = workspace.parse(line)
        spaces = [vw.NamespaceId(example, k) for k in range(example.num_namespaces())]
        places = [(space, j) for space in spaces for j in range(example.num_features_in(space))]
        features = [(example.feature(*place) & 0x3FFFF, example.feature_weight(*place)) for place in places]
        workspace.finish_example(example)
        part = slice(rows.indptr[i], rows.indptr[i + 1])
        mine = list(zip(rows.indices[part].tolist(), rows.values[part].tolist(), strict=True))
        assert sorted(value for _, value in features) == sorted(value for _, value in mine)
        theirs.append(features)
        ours.append(mine)
    assert [len(dict(theirs_row)) for theirs_row in theirs] == [len(dict(mine)) for mine in ours]
    shared = [[len(dict(a).keys() & dict(b).keys()) for a in side] for side in (theirs, ours) for b in side]
    assert shared[: len(lines_of)] == shared[len(lines_of) :]


# -- CSV records


@given(st.text('ab",\n\r', max_size=40), st.integers(0, 40))
@example('a,"b\r\nc"\r\n\r\n"d"",",e', 5)
@example("a\r", 2)
@example('"a"b"c,d"\n', 3)
def test_csv_records(text, cut):
    """In one piece, and in two with the rest of the first before the second."""
    wanted = [(line, len(row)) for line, row in reference.csv_records(text, ",")]
    whole, *_ = split_csv(as_bytes(text.encode()), ",", True)
    assert list(zip((whole.line + 1).tolist(), whole.fields.tolist(), strict=True)) == wanted
    first, n_taken, breaks = split_csv(as_bytes(text[:cut].encode()), ",", False)
    second, *_ = split_csv(as_bytes(text[n_taken:].encode()), ",", True)
    line = np.concatenate([first.line, second.line + breaks]) + 1
    assert list(zip(line.tolist(), np.concatenate([first.fields, second.fields]).tolist(), strict=True)) == wanted


# -- rows


@given(st.lists(st.lists(st.tuples(st.integers(0, 5), st.integers(-2, 2)), max_size=12), min_size=1, max_size=5))
def test_repeats_are_added_up(rows):
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    indices = np.array([i for row in rows for i, _ in row], dtype=np.int32)
    values = np.array([v for row in rows for _, v in row], dtype=np.float64)
    for result, row in zip(merged(indptr, indices, values), rows, strict=True):
        wanted = {}
        for index, value in row:
            reference.add(wanted, index, float(value))
        assert same_row(result, wanted)


@given(st.lists(st.one_of(st.none(), st.integers(-1000, 1000)), min_size=1, max_size=30))
def test_running_scores(column):
    values = np.array([0.0 if value is None else float(value) for value in column])
    present = np.array([value is not None for value in column])
    numbers, out = np.zeros((1, 7)), np.empty(len(column))
    standardise(values, present, numbers, 0, True, out)
    np.testing.assert_allclose(out[present], moments.scores(values[present].tolist()), rtol=1e-9, atol=1e-9)
    assert not out[~present].any()
    again = np.empty(len(column))
    before = numbers.copy()
    standardise(values, present, numbers, 0, False, again)
    assert (numbers == before).all()


# -- eight bytes at a time ---------------------------------------------------------------------------------------------

EIGHT = st.text("0123456789:| \t\r.e/;{}azA\0\x7f\xe9", min_size=8).map(lambda text: text.encode()[:8])


def as_word(eight):
    return np.frombuffer(eight, "<u8")[0]


@njit
def ends_in(word):
    return digits_in(word), name_in(word)


@given(EIGHT)
def test_where_digits_and_names_end(eight):
    assert ends_in(as_word(eight)) == (len(re.match(rb"[0-9]*", eight)[0]), len(re.match(rb"[^:|\0-\x20]*", eight)[0]))


@given(st.integers(0, 10**8), st.text("0123456789", max_size=8), EIGHT)
def test_digits_are_written_behind_others(number, digits, behind):
    word = as_word((digits.encode() + behind)[:8])
    assert append_digits(np.uint64(number), word, len(digits)) == int(f"{number}{digits}")
