"""Saving and loading of models, as safetensors files with parameters in JSON, without executable code.

The file holds the model's named arrays, its labels and shapes as a JSON document in an array of bytes, and as metadata
the format's version, the class and its parameters (long ones in an array too), and a checksum of everything else.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import hashlib
import math
import os
import re
import secrets
import stat
import types
import typing
from collections.abc import Hashable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import IO, Any

import msgspec
import numpy as np

from coterie.types import Array, Arrays, Estimator, Json, JsonValue

from . import spec
from .wording import nearest_file

#: The name of the series of formats in the header of a file. A higher number is refused; one of more digits
#: is no number that a file would have.
FORMAT, VERSION, LONGEST_VERSION = "coterie model 1.0", 1, 9

#: The maximum number of bytes of a target's name in a temporary name, which must stay within the limit of file names.
MOST_OF_NAME = 200

#: Parameters of more bytes, such as a mapping of a million tasks, stand in an array: safetensors limits its header.
HEADER_BYTES = 2**24

#: Arrays of fewer entries are stored as they are, even if most of them are zero.
FEW = 1024

#: The names of array types in safetensors.
_TYPES = {
    **{np.dtype(f"{kind}{size}"): f"{kind.upper()}{8 * size}" for kind in "iu" for size in (1, 2, 4, 8)},
    **{np.dtype(f"f{size}"): f"F{8 * size}" for size in (2, 4, 8)},
    np.dtype(bool): "BOOL",
}

#: Bytes with which a place to write is tried: a block of a disk.
_TRIAL = 4096
#: Arrays have few dimensions.
MOST_DIMENSIONS = 8

#: The most letters of the reason in an error.
LONGEST_REASON = 500

#: The error for the file of a service in the place of a model.
SNAPSHOT = "is the snapshot of a service: import coterie.server.service, and coterie.load(PATH).model is the model"

_DOCUMENT, _SPEC = "document", "spec"


def save(
    model: Estimator,
    path: str | PathLike[str],
    lock: contextlib.AbstractContextManager[object] | None = None,
    mode: int = 0o666,
) -> None:
    """Write a model to one file atomically.

    The model is copied while the lock is held; everything else happens without it, so that learning continues. The copy
    is written to a temporary file next to the target, flushed to the disk and renamed, so that a crash leaves either
    the old file or the new one. Equal models give equal files, byte for byte.

    Raises
    ------
    TypeError
        If a parameter has no JSON form, or an array has a type that the file format does not support.
    ValueError
        If a parameter cannot be restored from its JSON form. (Tasks, labels and names are checked when learned.)
    OSError
        If the disk is full or the folder cannot be written; the old file is then unchanged. If only the last step
        fails, the flush of the folder against a power failure, the new file is in place and complete.
    """
    kind: type = model.__class__
    name = kind.__name__
    if spec.ESTIMATORS.get(name) is not kind:
        raise TypeError(
            f"a {name} cannot be loaded from a file: it is a class of your own; save the model that "
            "coterie has, or use pickle"
        )
    with lock or contextlib.nullcontext():
        data, arrays = model.__dump__()
        parameters = dict(model.get_params(deep=False))
    described = {"class": name, "parameters": spec.to_json(parameters)}
    written = {_DOCUMENT: msgspec.json.encode(spec.to_json(data)), _SPEC: msgspec.json.encode(described)}
    inline = written.pop(_SPEC) if len(written[_SPEC]) <= HEADER_BYTES else b""
    arrays = dict(arrays) | {name: np.frombuffer(text, np.uint8) for name, text in written.items()}
    tensors: Arrays = {}
    while arrays:  # one at a time, so that of one that is mostly zeros both forms are there for a moment only
        tensors |= _thinned(dict([arrays.popitem()]))
    metadata = {"format": FORMAT, "version": str(VERSION), "spec": inline.decode()}
    metadata["checksum"] = _checksum(metadata, tensors)
    with replacing(path, mode) as file:
        _write(file, metadata, tensors)


def _write(file: IO[bytes], metadata: Mapping[str, str], tensors: Arrays) -> None:
    """Write a safetensors file: the header's length, the header, and the arrays.

    The library's own writer needs all of it in memory as bytes. Wider types come first, so that every array is aligned
    to the size of its entries.
    """
    header: Json = {"__metadata__": metadata}
    names, at = sorted(tensors, key=lambda name: (-tensors[name].itemsize, name)), 0
    for name in names:
        array, begin = tensors[name], at
        if array.dtype not in _TYPES:
            raise TypeError(f"array {name!r} is of the type {array.dtype}, which model files do not support")
        at += array.nbytes
        header[name] = {"dtype": _TYPES[array.dtype], "shape": array.shape, "data_offsets": [begin, at]}
    text = msgspec.json.encode(header)
    text += b" " * (-len(text) % 8)
    file.write(len(text).to_bytes(8, "little") + text)
    for name in names:
        file.write(_bytes(tensors[name]))


def load(path: str | PathLike[str]) -> Estimator:
    """Load a model written by :func:`save`; learning continues with exactly the same results.

    An attacker can give a file a valid checksum, so the contents are not trusted: a state that no model with its
    parameters can have is rejected before anything is computed with it (docs/appendix/file-format.md). O(its bytes).

    Raises
    ------
    ValueError
        If the file is not a model or not a regular file, is truncated, altered or of a newer format, or has a state
        that no model can have; the message has the reason.
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
    if metadata.get("format") == "coterie":
        raise ValueError(f"{path} was written before coterie 1.0, which cannot read such files; fit the model again")
    if metadata.get("format") != FORMAT:
        raise ValueError(f"{path} is not a coterie model: it is another kind of safetensors file")
    version = metadata.get("version", "")
    if version.isdecimal() and (len(version) > LONGEST_VERSION or int(version) > VERSION):
        raise ValueError(
            f"{path} has format {version[:LONGEST_VERSION]}, but this version of coterie reads only up to {VERSION}"
        )
    if metadata.get("checksum") != _checksum(metadata, tensors):
        raise ValueError(f"{path} was altered after it was written: its checksum does not match")
    with _refusing(path):
        tensors = _filled(tensors)
        text = tensors.pop(_SPEC).tobytes() if _SPEC in tensors else metadata.get("spec", "")
        described = msgspec.json.decode(text, type=_Described)
        kind = spec.find_class(spec.ESTIMATORS, described.name)
    if kind is None and described.name in ("Engine", "BanditEngine"):
        raise ValueError(f"{path} {SNAPSHOT}")
    if kind is None:
        raise ValueError(f"{path} contains a {described.name}, which this version of coterie does not support")
    with _refusing(path):
        parameters = msgspec.convert(spec.from_json(described.parameters), Json)
        _check_types(kind, parameters)
        model = kind(**parameters)
        document = tensors.pop(_DOCUMENT, np.zeros(0, np.uint8)).tobytes()
        return model.__restore__(msgspec.convert(spec.from_json(msgspec.json.decode(document)), Json), tensors)


class _Described(msgspec.Struct, rename={"name": "class"}):
    """The class and the parameters of a model, as saved in a file."""

    name: str
    parameters: JsonValue


def _check_types(kind: type, parameters: Json) -> None:
    """Check saved parameters against the constructor's annotations."""
    hints = typing.get_type_hints(kind if dataclasses.is_dataclass(kind) else kind.__init__)  # type: ignore[misc]
    for name, value in parameters.items():
        if name not in hints or not _is_like(value, hints[name]):
            raise ValueError(f"{name}={value!r} is not a parameter of {kind.__name__}")


def _is_like(value: object, hint: Any) -> bool:
    """Return True if a value has the annotated type ``hint``; parts and kernels are checked by the estimator."""
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        return any(_is_like(value, option) for option in typing.get_args(hint))
    if hint is Hashable:
        return spec.is_hashable(value)
    if origin in (Sequence, tuple):
        return isinstance(value, (list, tuple))
    plain = str if origin is typing.Literal else hint
    return isinstance(value, _PLAIN[plain]) if plain in _PLAIN else True


#: Types of parameters and the values that they stand for.
_PLAIN: dict[Any, Any] = {str: str, int: (int, float), float: (int, float), bool: (int, float), type(None): type(None)}


@contextlib.contextmanager
def _refusing(path: str | PathLike[str]) -> Iterator[None]:
    """Context that converts errors about the contents of a file to a ValueError with one sentence.

    Values on which learning or predicting depend are checked and raise ValueError. Other errors come from data of types
    that were never written.
    """
    try:
        yield
    except (Exception, RecursionError) as error:
        known = isinstance(error, (ValueError, msgspec.DecodeError))
        reason = ("" if known else f"{type(error).__name__}, ") + " ".join(str(error).split())
        raise ValueError(f"{path} is not a model that this version can read: {reason[:LONGEST_REASON]}") from None


def _read(path: Path) -> tuple[dict[str, str], Arrays]:
    from safetensors import SafetensorError, safe_open

    require_local(path)
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}{nearest_file(str(path))}")
    if not path.is_file():
        kind = "a folder" if path.is_dir() else "a pipe or a device, and a model is read from several places"
        raise ValueError(f"{path} is not a coterie model: it is {kind}")
    path.open("rb").close()  # whose error says why a file cannot be read: safetensors calls each "no such file"
    try:
        with safe_open(path, framework="numpy") as file:
            return file.metadata() or {}, {name: file.get_tensor(name) for name in list(file.keys())}
    except SafetensorError as error:
        raise ValueError(f"{path} is not a complete coterie model: {error}") from None
    except (TypeError, AttributeError, KeyError) as error:  # numbers that NumPy has no type for
        raise ValueError(f"{path} is not a model that this version can read: {error}") from None


def require_local(path: str | PathLike[str], what: str = "") -> None:
    """Raise ValueError for a URL, because files are written only to this machine.

    Examples
    --------
    >>> require_local("s3://models/clicks.coterie")
    Traceback (most recent call last):
    ValueError: 's3://models/clicks.coterie' is a URL, which is supported only for records; use a local...
    """
    # a Path reduces two slashes to one
    if begin := re.match(r"([A-Za-z][A-Za-z0-9+.-]+):/+", str(path)):
        url = f"{begin[1]}://{str(path)[begin.end() :]}"
        raise ValueError(
            f"{what}{url!r} is a URL, which is supported only for records; use a local path, "
            "and copy it to or from the store"
        )


def _thinned(arrays: Arrays) -> Arrays:
    """Replace large arrays that are mostly zero by their non-zero entries, with their positions.

    ``name`` becomes ``name|at``, ``name|values`` and ``name|shape``. Zero is a bit pattern here, so that -0.0 stays.
    Other arrays are not copied.
    """
    thinned: Arrays = {}
    for name, value in arrays.items():
        array = np.ascontiguousarray(value)
        n = array.size
        if n >= FEW and array.itemsize in (1, 2, 4, 8):
            n = int(np.count_nonzero(_bits(array)))
        if (array.itemsize + 8) * n < array.nbytes:
            at = np.flatnonzero(_bits(array)).astype(np.min_scalar_type(array.size))
            shape = np.array(array.shape, np.int64)
            thinned |= {f"{name}|at": at, f"{name}|values": array.reshape(-1)[at], f"{name}|shape": shape}
        else:
            thinned[name] = array
    return thinned


def _bits(array: Array) -> Array:
    """Return a contiguous array as integers with the same bits, without a copy."""
    return array.reshape(-1).view(f"u{array.itemsize}")


def _bytes(array: Array) -> memoryview:
    """Return a contiguous array as bytes, without a copy."""
    return array.reshape(-1).view(np.uint8).data


def _filled(tensors: Arrays) -> Arrays:
    """Restore the arrays that :func:`_thinned` replaced.

    Raises
    ------
    ValueError
        If entries do not fit into the shape of their array, or the arrays into the memory of this machine.
    """
    whole = {name: array for name, array in tensors.items() if "|" not in name}
    n_bytes = 0
    for name in (key.removesuffix("|shape") for key in tensors if key.endswith("|shape")):
        shape = [int(length) for length in tensors[f"{name}|shape"].reshape(-1)[:MOST_DIMENSIONS]]
        at, values = (tensors.get(f"{name}|{part}", np.zeros((0, 0))) for part in ("at", "values"))
        size = math.prod(shape)
        if min(shape, default=0) < 0 or at.dtype.kind != "u" or not at.shape == values.shape == (len(at),):
            raise ValueError(f"array {name!r} is not stored by entries other than zero")
        n_bytes += size * values.itemsize
        if n_bytes > _memory():
            raise ValueError(f"array {name!r} of shape {tuple(shape)} does not fit in the memory of this machine")
        if len(at) and int(at.max()) >= size:
            raise ValueError(f"array {name!r} has entries outside its shape")
        array = np.zeros(shape, values.dtype)
        array.reshape(-1)[at] = values
        whole[name] = array
    return whole


#: The files of Linux with the memory limits of containers: control groups of both versions.
LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def _memory() -> float:
    """Return the memory of the machine or container in bytes; infinity if unknown."""
    memory = math.inf
    with contextlib.suppress(AttributeError, ValueError, OSError):
        memory = float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    for path in LIMITS:
        with contextlib.suppress(OSError, ValueError):  # no such file, or "max"
            memory = min(memory, int(Path(path).read_text()))
    return memory


def _checksum(metadata: dict[str, str], tensors: Arrays) -> str:
    digest = hashlib.sha256(f"{metadata.get('version')} {metadata.get('spec')}".encode())
    for name in sorted(tensors):
        digest.update(f"{name} {tensors[name].dtype.str} {tensors[name].shape}".encode())
        digest.update(_bytes(np.ascontiguousarray(tensors[name])))
    return digest.hexdigest()


def _resolve_target(path: str | PathLike[str]) -> Path:
    """Resolve symbolic links; raise an error for devices and URLs."""
    require_local(path)
    target = Path(path).resolve()
    if target.exists() and not target.is_file():
        raise OSError(errno.EINVAL, "is not a regular file and cannot be replaced", str(path))
    return target


@contextlib.contextmanager
def replacing(path: str | PathLike[str], mode: int = 0o666) -> Iterator[IO[bytes]]:
    """Context that writes a temporary file and renames it to ``path`` at the end; on an error it is deleted.

    It has the permissions of the file that it replaces; a new one has ``mode``, under the umask.
    """
    target = _resolve_target(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(target.parent))
    remove_leftovers(target)
    before = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
    handle, temporary = _new_temporary(target, mode if before is None else before)
    try:
        with os.fdopen(handle, "wb") as file:
            if before is not None and hasattr(os, "fchmod"):
                os.fchmod(file.fileno(), before)  # the umask, which only new files are under, may have taken from it
            yield file
            file.flush()
            os.fsync(file.fileno())
            temporary.replace(target)  # before the file is closed, and with that its lock given up
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno is not None and error.filename is None:
            error.filename = str(path)  # calls that write know a number only
        raise
    sync_folder(target.parent)


def require_writable(path: str | PathLike[str]) -> None:
    """Raise an error unless `replacing` can write to ``path``, as a test with a small temporary file shows.

    Raises
    ------
    OSError
        If the folder does not exist or cannot be written, the disk is full, or ``path`` is a folder or a device.

    Examples
    --------
    >>> require_writable("nowhere/model.coterie")
    Traceback (most recent call last):
    FileNotFoundError: [Errno 2] cannot be written: No such file or directory: 'nowhere/model.coterie'
    """
    if Path(path).is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    target = _resolve_target(path)
    if target.exists() and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, "is read-only", str(path))
    try:
        handle, temporary = _new_temporary(target, 0o600)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(bytes(_TRIAL))
                file.flush()
                os.fsync(file.fileno())
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise OSError(error.errno, f"cannot be written: {error.strerror}", str(path)) from None


def remove_leftovers(path: str | PathLike[str]) -> None:
    """Delete the temporary files next to this path that killed processes have left.

    A process holds a lock on its temporary file until it ends. Locked files stay, and if the system cannot lock
    files, all are kept. Files that cannot be removed are kept as well.
    """
    target = Path(path).resolve()
    ours = re.compile(re.escape(_temporary_prefix(target)) + "[0-9a-f]{8}")
    with contextlib.suppress(OSError), os.scandir(target.parent) as entries:
        for name in [entry.name for entry in entries if ours.fullmatch(entry.name)]:
            with contextlib.suppress(OSError), (target.parent / name).open("r+b") as file:
                if _locked(file.fileno(), wait=False):
                    (target.parent / name).unlink()


def _temporary_prefix(target: Path) -> str:
    """Return the prefix of temporary file names."""
    return f".{os.fsdecode(os.fsencode(target.name)[:MOST_OF_NAME])}.coterie-"


def _new_temporary(target: Path, mode: int) -> tuple[int, Path]:
    """Open and lock a new temporary file next to the target.

    The kernel applies the umask to the permissions; reading the umask would set it for all threads.
    """
    while True:
        temporary = target.parent / f"{_temporary_prefix(target)}{secrets.token_hex(4)}"
        with contextlib.suppress(FileExistsError):
            handle = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
            _locked(handle, wait=True)
            if os.fstat(handle).st_nlink:
                return handle, temporary
            os.close(handle)  # another process took it for a leftover before it was locked


def _locked(handle: int, wait: bool) -> bool:
    """Lock an open file; return False if the system cannot lock files. ``wait`` is True to wait for another lock.

    Raises
    ------
    BlockingIOError
        If another process has locked it, and ``wait`` is False.
    """
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except (ImportError, OSError):  # on Windows, on some shares
        return False
    return True


#: The file that locks a folder.
LOCK = "lock"


def hold_folder(folder: Path) -> IO[bytes]:
    """Lock a folder against other processes, until the returned file is closed.

    If files cannot be locked, as on Windows and on some shares, it has no effect.

    Raises
    ------
    ValueError
        If another process has locked the folder.
    """
    file = (folder / LOCK).open("ab")
    try:
        _locked(file.fileno(), wait=False)
    except BlockingIOError:
        file.close()
        raise ValueError(f"another process has locked {folder}") from None
    return file


def sync_folder(folder: Path) -> None:
    """Flush the directory entries of a folder to disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
