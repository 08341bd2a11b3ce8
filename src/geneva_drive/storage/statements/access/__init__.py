"""Statements about API keys and roles."""
