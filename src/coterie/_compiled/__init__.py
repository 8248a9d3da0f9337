"""Code compiled by numba: functions of arrays and scalars."""

from numba.core import config as _config

if _config.DISABLE_JIT:  # type: ignore[attr-defined]
    raise ImportError(
        "coterie requires numba's compiler; unset NUMBA_DISABLE_JIT (and `disable_jit` in numba's configuration file)"
    )
