"""Statements on schedules, and the query for the next due moment."""
