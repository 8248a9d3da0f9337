"""The self-contained HTML report."""

from coterie.report.page import render, write_report

__all__ = ["render", "write_report"]
