"""Duties for events and their triggers, deadlines, and waits that a crash left behind."""
