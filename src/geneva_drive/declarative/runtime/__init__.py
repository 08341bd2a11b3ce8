"""Definitions of documents, which the engine runs."""
