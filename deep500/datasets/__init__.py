"""Data sets, one per file: datasets/digits.py holds Digits."""
