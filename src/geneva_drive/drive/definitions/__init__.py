"""Documents of a Drive, and starting workflows by name."""
