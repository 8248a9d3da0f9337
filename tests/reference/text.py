"""Text formats read literally: the hash, the tokeniser, svmlight, Vowpal Wabbit, CSV records."""

import math
import re

Row = dict[int, float]


def fnv1a_mixed(key: bytes) -> int:
    """FNV-1a of 64 bits, then the finaliser of MurmurHash3."""
    h = 0xCBF29CE484222325
    for byte in key:
        h = ((h ^ byte) * 0x100000001B3) % 2**64
    h = ((h ^ (h >> 33)) * 0xFF51AFD7ED558CCD) % 2**64
    h = ((h ^ (h >> 33)) * 0xC4CEB9FE1A85EC53) % 2**64
    return h ^ (h >> 33)


def column(key: str, bits: int) -> int:
    return fnv1a_mixed(key.encode()) % (1 << bits)


def add(row: Row, key: int, value: float) -> None:
    row[key] = row.get(key, 0.0) + value


def tokens(text: str) -> list[str]:
    """Runs of ASCII letters and digits and of anything that is not ASCII; ASCII letters lower-cased."""
    folded = "".join(c.lower() if c.isascii() else c for c in text)
    return re.findall(r"[a-z0-9\u0080-\U0010ffff]+", folded)


def text_row(name: str, text: str, bits: int) -> Row:
    words = tokens(text)
    row: Row = {}
    for word in dict.fromkeys(words):
        add(row, column(f"{name}^{word}", bits), math.log(1 + words.count(word)))
    return row


def svmlight_row(line: str) -> tuple[float | None, int | None, Row]:
    """Label, task and features of ``[label] [qid:task] index:value ... # comment``."""
    label: float | None = None
    task: int | None = None
    row: Row = {}
    for position, word in enumerate(line.split("#")[0].split()):
        if ":" not in word and position == 0:
            label = float(word)
        elif word.startswith("qid:"):
            task = int(word[4:])
        else:
            index, value = word.split(":")
            add(row, int(index), float(value))
    return label, task, row


def vowpal_row(line: str, task_namespace: str, bits: int) -> tuple[float | None, str | None, Row]:
    """Label, task and features of ``[label [importance]] ['tag]|namespace[:scale] feature[:value] ...``."""
    header, *namespaces = line.split("|")
    words = header.split()
    if words and (words[-1].startswith("'") or not header[-1].isspace()):
        words.pop()
    label = float(words[0]) if words else None
    task: str | None = None
    row: Row = {}
    for namespace in namespaces:
        named = not namespace[:1].isspace()
        features = namespace.split()
        name, _, scale = features.pop(0).partition(":") if named and features else ("", "", "")
        if task_namespace and name == task_namespace:
            task = task if task is not None or not features else features[0].partition(":")[0]
            continue
        unnamed = 0
        for feature in features:
            key, colon, value = feature.partition(":")
            if re.fullmatch(r"([-+.\d].*)?", value):
                key, unnamed = (key, unnamed) if key else (str(unnamed), unnamed + 1)
                number = float(scale or 1) * float(value or 1)
            else:
                key, number = f"{key or 0}{colon}{value}", 1.0
            add(row, column(f"{name}^{key}" if name else key, bits), number)
    return label, task, row


def unit(row: Row) -> Row:
    norm = math.sqrt(sum(value**2 for value in row.values()))
    return {key: value / norm for key, value in row.items()} if norm > 0 else row


def csv_records(text: str, delimiter: str) -> list[tuple[int, list[str]]]:
    """Line number and fields of each record: the state machine of RFC 4180, empty lines left out."""
    records: list[tuple[int, list[str]]] = []
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    text += "" if text.endswith("\n") else "\n"
    line, begin, fields, field, quoted, at_start, i = 1, 1, [], "", False, True, 0
    empty = True
    while i < len(text):
        c = text[i]
        if quoted and c == '"' and text[i + 1 : i + 2] == '"':
            field += '"'
            i += 1
        elif quoted:
            quoted = c != '"'
            field += c if c != '"' else ""
        elif c == '"' and at_start:
            quoted, at_start = True, False
        elif c in (delimiter, "\n"):
            fields.append(field)
            field, at_start = "", True
        else:
            field, at_start = field + c, False
        empty = empty and c == "\n"
        line += c == "\n"
        if c == "\n" and not quoted:
            if not empty:
                records.append((begin, fields))
            begin, fields, field, at_start, empty = line, [], "", True, True
        i += 1
    return records
