"""The papers' tables and figures, rerun: one module a paper."""
