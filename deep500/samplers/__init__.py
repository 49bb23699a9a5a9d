"""Samplers, one per file: samplers/shuffle_sampler.py holds ShuffleSampler."""
