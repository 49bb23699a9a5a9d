"""What the benchmarks of a test suite record, and how two suites are compared."""
