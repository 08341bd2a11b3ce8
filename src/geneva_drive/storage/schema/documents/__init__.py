"""The table of documents."""
