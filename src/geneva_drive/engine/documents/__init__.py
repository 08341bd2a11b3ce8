"""Lookup of JSON documents and their definitions."""
