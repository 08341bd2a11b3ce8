"""Statements on approvals, events, callbacks and resume requests."""
