"""The self-contained HTML report."""

from .page import render, write_report

__all__ = ["render", "write_report"]
