"""Operators under the clock: jobs, what is timed and checked, the plan, suites of sizes, and elementary functions."""
