"""The faults of a document: in its structure, and in the order of its steps."""
