"""Limits on the cost of expressions."""
