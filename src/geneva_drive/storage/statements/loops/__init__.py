"""Statements that save where loops stand."""
