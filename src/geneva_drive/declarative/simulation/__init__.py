"""Runs documents without a database, by the same rules as the engine."""
