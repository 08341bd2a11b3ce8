"""Statements on documents."""
