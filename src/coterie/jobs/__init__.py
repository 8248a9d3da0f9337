"""What a command does as one call of the library: a learner chosen by words, files gone through, a summary made."""
