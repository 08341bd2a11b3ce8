"""Duties about events, deadlines and waits that a crash left behind."""
