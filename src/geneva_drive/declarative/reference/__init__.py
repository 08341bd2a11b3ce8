"""The reference of the format: its JSON Schema, and the tables of the documentation."""
