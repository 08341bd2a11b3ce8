"""The timeline and the tracebacks on the page of one workflow."""
