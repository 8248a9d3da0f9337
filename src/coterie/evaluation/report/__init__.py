"""The HTML report, a self-contained file."""

from .page import render, write_report

__all__ = ["render", "write_report"]
