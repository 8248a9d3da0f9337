"""Reruns of the papers' tables, figures and theorems: one module for each paper, run by ``python -m papers``."""
