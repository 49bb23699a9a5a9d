"""Benchmarks of networks: latency, throughput, memory, and the time of each of their operators."""
