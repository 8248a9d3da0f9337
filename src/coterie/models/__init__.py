"""Learners: their contract (:mod:`.contract`), and a module for each kind."""
