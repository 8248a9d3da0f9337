"""``python -m coterie``: the command line."""

from .cli import main

main()
