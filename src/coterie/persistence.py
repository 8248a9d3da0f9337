"""A model and one file: safetensors, the parameters as JSON in its metadata, no code.

The file holds the model's named arrays, its labels and shapes as a JSON document in an array of bytes, and as metadata
the format's version, the class and its parameters (long ones in an array too), and a checksum of everything else.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
import tempfile
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import IO, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from . import spec

#: Files of a higher version are refused.
VERSION = 1

#: Parameters of more bytes, such as a mapping of a million tasks, stand in an array: safetensors limits its header.
HEADER_BYTES = 2**24

#: Arrays of fewer entries are stored as they are, however many of them are zero.
FEW = 1024

_ESTIMATORS: dict[str, type] = {}
_DOCUMENT, _SPEC = "document", "spec"

Arrays = dict[str, NDArray[Any]]


def register(estimator: type) -> type:
    """Make a class known by name to :func:`load`."""
    _ESTIMATORS[estimator.__name__] = estimator
    return spec.model(estimator)


def save(model: Any, path: str | PathLike[str]) -> None:
    """Write a model to one file, completely or not at all.

    It is written to a temporary name beside the target, flushed to the disk and renamed, so that a crash leaves either
    the old file or the new one.

    Raises
    ------
    TypeError
        If a task, label or parameter has no JSON form.
    OSError
        If the disk is full or the folder cannot be written; the old file is then untouched.
    """
    from safetensors.numpy import save as pack

    data, arrays = model.__dump__()
    described = {"class": type(model).__name__, "parameters": spec.to_json(model.get_params(deep=False))}
    written = {_DOCUMENT: msgspec.json.encode(spec.to_json(data)), _SPEC: msgspec.json.encode(described)}
    inline = written.pop(_SPEC) if len(written[_SPEC]) <= HEADER_BYTES else b""
    held = arrays | {name: np.frombuffer(text, np.uint8) for name, text in written.items()}
    tensors = _thinned({name: np.ascontiguousarray(array) for name, array in held.items()})
    metadata = {"format": "coterie", "version": str(VERSION), "spec": inline.decode()}
    metadata["checksum"] = _checksum(metadata, tensors)
    with replacing(path) as file:
        file.write(pack(tensors, metadata))


def load(path: str | PathLike[str]) -> Any:
    """Read a model that :func:`save` wrote; going on equals never having stopped, bit for bit.

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
    metadata, tensors = _read(Path(path))
    if metadata.get("format") != "coterie":
        raise ValueError(f"{path} is not a coterie model: it is a safetensors file of another kind")
    version = metadata.get("version", "")
    if version.isdecimal() and int(version) > VERSION:
        raise ValueError(f"{path} has format {version}, and this version of coterie reads up to {VERSION}")
    if metadata.get("checksum") != _checksum(metadata, tensors):
        raise ValueError(f"{path} was altered after it was written: its checksum does not fit")
    tensors = _filled(tensors)
    described = msgspec.json.decode(tensors.pop(_SPEC).tobytes() if _SPEC in tensors else metadata["spec"])
    kind = spec.registered(_ESTIMATORS, described["class"])
    if kind is None:
        raise ValueError(f"{path} holds a {described['class']}, which this version of coterie does not know")
    model = kind(**spec.from_json(described["parameters"]))
    return model.__restore__(spec.from_json(msgspec.json.decode(tensors.pop(_DOCUMENT).tobytes())), tensors)


def _read(path: Path) -> tuple[dict[str, str], Arrays]:
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    try:
        with safe_open(path, framework="numpy") as file:
            return file.metadata() or {}, {name: file.get_tensor(name) for name in list(file.keys())}
    except SafetensorError as error:
        raise ValueError(f"{path} is not a whole coterie model: {error}") from None


def _thinned(arrays: Arrays) -> Arrays:
    """The arrays, large ones that are mostly zero by their other entries: not all 2^18 hashed features occur.

    ``name`` becomes ``name|at``, ``name|values`` and ``name|shape``. Zero is a bit pattern here, so that -0.0 stays.
    """
    kept: Arrays = {}
    for name, array in arrays.items():
        bits = array.reshape(-1).view(f"u{array.itemsize}") if array.itemsize in (1, 2, 4, 8) else array.reshape(-1)
        at = np.flatnonzero(bits) if array.size >= FEW else bits
        if (array.itemsize + at.itemsize) * len(at) < array.nbytes:
            at = at.astype(np.min_scalar_type(array.size))
            parts = {"at": at, "values": array.reshape(-1)[at], "shape": np.array(array.shape, np.int64)}
            kept |= {f"{name}|{part}": held for part, held in parts.items()}
        else:
            kept[name] = array
    return kept


def _filled(tensors: Arrays) -> Arrays:
    """The arrays as they were before they were thinned."""
    whole = {name: array for name, array in tensors.items() if "|" not in name}
    for name in (each.removesuffix("|shape") for each in tensors if each.endswith("|shape")):
        values = tensors[f"{name}|values"]
        array = np.zeros(tuple(tensors[f"{name}|shape"]), values.dtype)
        array.reshape(-1)[tensors[f"{name}|at"]] = values
        whole[name] = array
    return whole


def _checksum(metadata: dict[str, str], tensors: Arrays) -> str:
    digest = hashlib.sha256(f"{metadata.get('version')} {metadata.get('spec')}".encode())
    for name in sorted(tensors):
        digest.update(f"{name} {tensors[name].dtype.str} {tensors[name].shape}".encode())
        digest.update(np.ascontiguousarray(tensors[name]).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


@contextlib.contextmanager
def replacing(path: str | PathLike[str]) -> Iterator[IO[bytes]]:
    """A file to write to that takes the place of ``path`` when all is on the disk, and vanishes if anything fails."""
    target = Path(path).resolve()  # a link stays one
    if target.exists() and not target.is_file():
        raise OSError(errno.EINVAL, "is not a regular file, which could be replaced", str(path))
    handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent or ".")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(_mode(target))
        Path(temporary).replace(target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def _mode(target: Path) -> int:
    """The permissions of the file that is replaced, or those that the process gives to new files."""
    if target.exists():
        return stat.S_IMODE(target.stat().st_mode)
    mask = os.umask(0o077)
    os.umask(mask)
    return 0o666 & ~mask


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
