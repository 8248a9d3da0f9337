"""Write a file of every estimator and what its model predicts, or of a kind: `python tests/saved/make_saved.py [NAME]...`.

Every later version of coterie has to read these files, so a file is written once: when its estimator is new. Before the
first release, and whenever a change of an estimator may break its files, they are made again.
"""

import json
import sys
from pathlib import Path

FOLDER = Path(__file__).parent
sys.path[:0] = [str(FOLDER.parent), str(FOLDER.parents[1])]

from kinds import FILES, MODELS, learned  # noqa: E402
from test_saved import KINDS, known, original, outcome  # noqa: E402


def main(names):
    for name in names or [*sorted(known()), *(path.stem for path in FILES.glob("*.coterie"))]:
        if name in MODELS:
            learned(name).save(FILES / f"{name}.coterie")
            continue
        model, form = original(name)
        model.save(FOLDER / f"{name}.coterie")
        expected = {"kind": KINDS.get(name, ""), "outcome": outcome(model, form)}
        (FOLDER / f"{name}.json").write_text(json.dumps(expected) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
