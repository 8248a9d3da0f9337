"""Code compiled by numba: the arithmetic of all online algorithms, as functions of arrays and scalars.

``primal`` has models with explicit weights, ``dual`` kernel models with support vectors, ``views`` models of several
views, ``weights`` tables of weights, ``text`` parsers and ``graph`` linear systems of task graphs.
"""

from numba.core import config as _config

if _config.DISABLE_JIT:  # type: ignore[attr-defined]
    raise ImportError(
        "coterie requires numba's compiler; unset NUMBA_DISABLE_JIT (and `disable_jit` in numba's configuration file)"
    )
