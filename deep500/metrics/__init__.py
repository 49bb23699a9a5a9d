"""Metrics, one per file: metrics/time_to_accuracy.py holds TimeToAccuracy."""
