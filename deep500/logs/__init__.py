"""Reads logs of other tools: one format per file, found by the registry."""
