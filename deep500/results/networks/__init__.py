"""The parts of reports on networks: their benchmarks and checks."""
