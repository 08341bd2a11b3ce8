"""Documents as definitions that the engine runs."""
