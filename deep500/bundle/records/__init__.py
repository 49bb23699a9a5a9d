"""Bundles as records of runs: ledger, recording, loading, dates, verification, signatures, comparison."""
