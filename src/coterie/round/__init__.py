"""The round: what a learner is asked (:mod:`.contract`), and the learners that answer, each in a file of its own."""
