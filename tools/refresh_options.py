"""Make the tables of options in documents anew, of what the commands say of them: refresh_options.py docs/cli.md."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import options

for name in sys.argv[1:]:
    path = Path(name)
    path.write_text(options.map_tables(path.read_text(encoding="utf-8")), encoding="utf-8")
