"""A virtual cluster: schedules of messages and work, simulated under LogGOPS for up to millions of ranks."""
