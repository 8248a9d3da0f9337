"""Data sets of words: amazon4, acl4, newsgroups_pairs; amazon4_200, newsgroups_200, of their most frequent words."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array, vstack

from . import folder, originals
from .dataset import Dataset, Entry
from .preparation import csr, gap_csr, log_counts, signs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .preparation import Arrays

AMAZON4 = Entry(
    name="amazon4",
    what="Amazon reviews, 5000 words: positive or negative; a task a domain",
    rows=8000,
    tasks=4,
    source="the Amazon reviews in github.com/GRAAL-Research/domain_adversarial_neural_network",
    licence="none stated",
    file="amazon4_msda5000.npz",
    original=originals.AMAZON4,
)
ACL4 = Entry(
    name="acl4",
    what="Amazon reviews, words and pairs of words: positive or negative; a task a domain",
    rows=8000,
    tasks=4,
    source="the reviews of Blitzer et al. 2007 in github.com/lorenzoritter/domainadaption",
    licence="none stated",
    file="acl4_bigram_counts.npz",
)
NEWSGROUPS_PAIRS = Entry(
    name="newsgroups_pairs",
    what="20 Newsgroups: the first or the second group of a pair; a task a pair",
    rows=11314,
    tasks=10,
    source="20news-bydate at qwone.com/~jason/20Newsgroups",
    licence="none stated",
    file="20news_bydate_counts.npz",
    original=originals.NEWSGROUPS,
)
AMAZON4_200 = replace(
    AMAZON4,
    name="amazon4_200",
    what="amazon4 by its 200 most frequent words, present or not: positive or negative; a task a domain",
)
NEWSGROUPS_200 = replace(
    NEWSGROUPS_PAIRS,
    name="newsgroups_200",
    what="newsgroups_pairs by its 200 most frequent words, present or not: the first or the second; a task a pair",
)
MOST_FREQUENT = 200
DOMAINS = ("books", "dvd", "electronics", "kitchen")
PAIRING_SEED = 0


def amazon4() -> Dataset:
    """Return Amazon reviews of four domains, with the published test part.

    Counts of 5000 words become log(1 + count), rows of unit norm; +1 is a positive review. 2000 rows a domain, 19677 in
    the test part. Rows come domain by domain: shuffle them for a stream.

    Raises
    ------
    InputError
        If the file is not there.
    """
    return _amazon4(AMAZON4)


def amazon4_200() -> Dataset:
    """Return :func:`amazon4` by its 200 most frequent words, 1 where a review has the word, else 0.

    Frequent are the words of the most reviews of the training part. Rows are not scaled.

    Raises
    ------
    InputError
        If the file is not there.
    """
    return _by_frequent_words(_amazon4(AMAZON4_200), AMAZON4_200)


def _amazon4(entry: Entry) -> Dataset:
    arrays = folder.read(entry)
    return _amazon4_part(arrays, "train", test=_amazon4_part(arrays, "test"))


def _amazon4_part(arrays: Arrays, part: str, test: Dataset | None = None) -> Dataset:
    prefixes = [f"{domain}_{part}_" for domain in DOMAINS]
    X = log_counts(csr_array(vstack([csr(arrays, prefix) for prefix in prefixes], format="csr")))
    labels = [arrays[prefix + "y"] for prefix in prefixes]
    task = np.repeat(np.array(DOMAINS), [len(y) for y in labels])
    return Dataset(AMAZON4.name, X, signs(np.concatenate(labels) == 1), task, test=test)


def acl4() -> Dataset:
    """Return the 4 x 2000 labelled reviews of Blitzer et al. 2007.

    Counts of 119932 words and pairs of words become log(1 + count), rows of unit norm; +1 is a positive review. Rows
    come domain by domain: shuffle them for a stream.

    Raises
    ------
    InputError
        If the file is not there.
    """
    arrays = folder.read(ACL4)
    task = arrays["task_names"].astype(str)[arrays["task"]]
    return Dataset(ACL4.name, log_counts(gap_csr(arrays)), signs(arrays["y"] == 1), task)


def newsgroups_pairs() -> Dataset:
    """Return 20 Newsgroups as ten binary tasks, with the test part by date.

    The groups are paired by ``numpy.random.default_rng(0).permutation(20)``, taken two by two; a task is
    ``"first | second"``, and +1 is its first group. Counts become log(1 + count), rows of unit norm. Rows come group by
    group: shuffle them for a stream.

    Raises
    ------
    InputError
        If the file is not there.
    """
    return _newsgroups(NEWSGROUPS_PAIRS)


def newsgroups_200() -> Dataset:
    """Return :func:`newsgroups_pairs` by its 200 most frequent words, 1 where a post has the word, else 0.

    Frequent are the words of the most posts of the training part. Rows are not scaled.

    Raises
    ------
    InputError
        If the file is not there.
    """
    return _by_frequent_words(_newsgroups(NEWSGROUPS_200), NEWSGROUPS_200)


def _newsgroups(entry: Entry) -> Dataset:
    arrays = folder.read(entry)
    X, (y, task) = log_counts(gap_csr(arrays)), _pairs(arrays)
    held_out = arrays["test"] == 1
    test = Dataset(NEWSGROUPS_PAIRS.name, X[held_out], y[held_out], task[held_out])
    return Dataset(NEWSGROUPS_PAIRS.name, X[~held_out], y[~held_out], task[~held_out], test=test)


def _by_frequent_words(data: Dataset, entry: Entry) -> Dataset:
    """Return the words that stand in the most rows, as columns of 0 and 1, the most frequent first."""
    X: Any = data.X
    words = np.argsort(-np.bincount(X.indices, minlength=X.shape[1]), kind="stable")[:MOST_FREQUENT]

    def part(of: Dataset, test: Dataset | None = None) -> Dataset:
        held: Any = of.X
        return Dataset(entry.name, (held[:, words].toarray() > 0).astype(np.float64), of.y, of.task, test=test)

    return part(data, part(data.test) if data.test else None)


def _pairs(arrays: Arrays) -> tuple[NDArray[np.int8], NDArray[Any]]:
    """Return the sign and the pair of each row, from its group."""
    names, groups = arrays["target_names"].astype(str), arrays["y"]
    order = np.random.default_rng(PAIRING_SEED).permutation(len(names))
    place = np.argsort(order)[groups]
    pairs = np.array([f"{first} | {second}" for first, second in names[order].reshape(-1, 2)])
    return signs(place % 2 == 0), pairs[place // 2]
