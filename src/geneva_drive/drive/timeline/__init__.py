"""What the page of one workflow shows beside its graph: the timeline, and tracebacks."""
