"""What is wrong with a document: its structure, and how its steps follow each other."""
