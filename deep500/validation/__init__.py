"""Is it right, and how fast is it: checks, benchmarks and conformance tests of operators."""
