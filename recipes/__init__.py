"""Recipes to copy: FIXED + MUTABLE + METRICS."""
