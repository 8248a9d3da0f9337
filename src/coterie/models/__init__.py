"""Learners: their interface (:mod:`.contract`), and one module for each kind."""
