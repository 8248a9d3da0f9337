"""Measurements of speed, memory and accuracy against peers and floors timed in the same run; see README.md.

Linear algebra is kept to one thread, as two on a busy machine are slower than one: it must be said before numpy loads.
"""

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
