"""Networks checked and measured: costs, benchmarks, agreement of frameworks."""
