"""Measures training scripts: a user's own loop writes a bundle."""
