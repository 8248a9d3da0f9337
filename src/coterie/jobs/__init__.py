"""The work of each command as one call: a learner chosen by words, a pass over files, a summary."""
