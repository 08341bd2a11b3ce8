"""Statements that find and count workflows for people."""
