"""Statements that save the cursors of loops."""
