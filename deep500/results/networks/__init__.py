"""The parts of a network benchmark's report."""
