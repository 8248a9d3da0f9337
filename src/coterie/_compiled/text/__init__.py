"""Parsers of text to rows: numbers, words, svmlight, Vowpal Wabbit and CSV."""
