"""Learners: their common interface (:mod:`.contract`), and one module for each kind of learner."""
