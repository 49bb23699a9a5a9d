"""Networks measured: latency, throughput, memory, and what each of their operators takes."""
