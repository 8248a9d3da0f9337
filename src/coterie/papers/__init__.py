"""Reruns of the papers' tables, figures and theorems: one module a paper."""
