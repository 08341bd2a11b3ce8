"""Statements about schedules, and about what is due next."""
