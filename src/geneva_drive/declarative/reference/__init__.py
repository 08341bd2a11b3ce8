"""The format in words: its JSON Schema, and the tables of the documentation."""
