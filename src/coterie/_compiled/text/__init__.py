"""Parsers of text in compiled code: numbers, words, svmlight, Vowpal Wabbit and CSV."""
