"""The contracts: one noun per file. Read these and you know the system."""
