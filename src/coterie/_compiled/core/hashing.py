r"""The hash from a feature's name to its column: FNV-1a over its UTF-8 bytes, then a final mix.

FNV-1a continues from a state, so the common beginning of many keys (``name=``, ``name^``) is hashed once:

$$h_0 = \text{offset},\qquad h_{i+1} = (h_i \oplus c_i)\cdot p \bmod 2^{64},$$

and its weak low bits are spread by the finaliser of MurmurHash3 before the last `bits` of them are kept.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from .generic import no_refcount

if TYPE_CHECKING:
    from numpy.typing import NDArray

FNV_OFFSET = np.uint64(0xCBF29CE484222325)
FNV_PRIME = np.uint64(0x100000001B3)
_MIX_1 = np.uint64(0xFF51AFD7ED558CCD)
_MIX_2 = np.uint64(0xC4CEB9FE1A85EC53)
_33 = np.uint64(33)


@no_refcount
def fnv1a_of(state, c):
    """Return the state of the FNV-1a hash after one more byte c."""
    # uint64 arithmetic wraps around, which is the modulus 2^64
    return (state ^ c) * FNV_PRIME


@no_refcount
def fnv1a(state, data, start, stop):
    """Return the FNV-1a hash state after the bytes ``data[start:stop]``."""
    for i in range(start, stop):
        state = fnv1a_of(state, np.uint64(data[i]))
    return state


@no_refcount
def mix(state):
    """Mix the bits of a hash state (the finaliser of MurmurHash3, a bijection)."""
    # xor with the high bits first: multiplying moves information upwards only
    state = (state ^ (state >> _33)) * _MIX_1
    state = (state ^ (state >> _33)) * _MIX_2
    return state ^ (state >> _33)


@no_refcount
def slot(state, mask):
    """Return the column of a hash state, its last bits; ``mask`` is ``2**bits - 1``."""
    return np.int32(mix(state) & mask)


@no_refcount
def hash_strings(state, data, offsets, mask, out):
    """Hash a prefix followed by each string of an Arrow array, and write the columns to ``out``.

    ``state`` is the hash state of the prefix.
    """
    for i in range(len(out)):
        out[i] = slot(fnv1a(state, data, offsets[i], offsets[i + 1]), mask)


@no_refcount
def _hash_key(data, bits):
    return slot(fnv1a(FNV_OFFSET, data, 0, len(data)), (np.uint64(1) << np.uint64(bits)) - np.uint64(1))


def as_bytes(buffer: object) -> NDArray[np.uint8]:
    """View a bytes-like object as a read-only uint8 array."""
    view: NDArray[np.uint8] = np.frombuffer(buffer, dtype=np.uint8)  # type: ignore[call-overload]
    view.flags.writeable = False
    return view


def encode_key(key: str) -> bytes:
    """Encode a feature key as UTF-8; an invalid character (a lone surrogate) is encoded, too."""
    return key.encode("utf-8", "surrogatepass")


def prefix_state(prefix: str) -> np.uint64:
    """Return the state of the FNV-1a hash after a prefix, from which all keys with this prefix are hashed."""
    return np.uint64(fnv1a(FNV_OFFSET, as_bytes(encode_key(prefix)), 0, len(encode_key(prefix))))


def bit_mask(bits: int) -> np.uint64:
    """Return the bit mask ``2**bits - 1`` as an unsigned integer for compiled code."""
    return np.uint64((1 << bits) - 1)


@lru_cache(maxsize=1 << 16)
def feature_hash(key: str, bits: int) -> int:
    """Return the column index of a feature key among ``2**bits`` columns (feature hashing).

    Parameters
    ----------
    key : str
        The feature's key: ``name`` of a number, ``name=value`` of a category, ``name^token`` of a word,
        ``""`` of the constant.
    bits : int
        The number of columns is ``2**bits``, 1 ≤ bits ≤ 30.

    Returns
    -------
    int
        A column in ``[0, 2**bits)``. The last 65536 keys are remembered: O(1) for them, O(length) otherwise.

    Examples
    --------
    >>> feature_hash("word=free", bits=18)
    22005
    >>> feature_hash("word=free", bits=8) == feature_hash("word=free", bits=18) % 256
    True
    """
    return int(_hash_key(np.frombuffer(key.encode("utf-8", "surrogatepass"), dtype=np.uint8), bits))
