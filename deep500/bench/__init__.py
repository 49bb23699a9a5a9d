"""Benchmarks of operators, networks, data sets and elementary functions: what is timed is checked, before and after."""
