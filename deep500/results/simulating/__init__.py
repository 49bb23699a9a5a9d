"""What a simulation of a virtual cluster records, derives and shows."""
