"""Simulations of a virtual cluster, recorded as bundles: what is simulated, and how."""
