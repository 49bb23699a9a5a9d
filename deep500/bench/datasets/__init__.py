"""Benchmarks of reading data: containers, decoders, workers, with a warm or cold page cache."""
