"""Loading a model of whatever class: what knows where the classes are."""

from __future__ import annotations

from os import PathLike
from typing import Any


def load(path: str | PathLike[str]) -> Any:
    """Read a model that its ``save`` wrote; going on equals never having stopped, bit for bit.

    Raises
    ------
    ValueError
        If the file is no model, is truncated or altered, or is of a newer format; the message says which.
    FileNotFoundError
        If there is no such file.

    Examples
    --------
    >>> import coterie, tempfile, pathlib
    >>> model = coterie.MultitaskPerceptron().fit([[1.0], [-1.0]], ["a", "b"])
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.coterie"
    >>> model.save(path)
    >>> coterie.load(path).predict([[2.0]])
    array(['a'], dtype='<U1')
    """
    from coterie import batch, online, persistence

    for package in (online, batch):
        for name in dir(package):
            getattr(package, name)  # a class is known to a file by its name alone, once its module is there
    return persistence.load(path)
