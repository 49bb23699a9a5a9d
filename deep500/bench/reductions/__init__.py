"""What is summed in the benchmark of reductions, and the ranks that do it."""
