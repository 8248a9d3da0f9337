"""List the data sets, or download one: ``python -m papers.data [NAME]``."""

import argparse

from . import LOADERS, fetch, folder, is_available


def main() -> None:
    """Print the path of the data set that is named, or a line for each."""
    parser = argparse.ArgumentParser(prog="python -m papers.data", description=__doc__)
    parser.add_argument("name", nargs="?", choices=list(LOADERS), help="download this one if it is not here")
    name = parser.parse_args().name
    if name is not None:
        print(fetch(name))
        return
    for entry, _ in LOADERS.values():
        print(f"{entry.name:17}{entry.rows:>7,} rows {entry.tasks:>6,} tasks  {entry.what}")
        print(f"{'':17}{'is here' if is_available(entry) else folder.how_to_get(entry)}")


if __name__ == "__main__":
    main()
