"""Measure a training script where it is: a user's own loop writes a bundle."""
