"""Statements on API keys and roles."""
