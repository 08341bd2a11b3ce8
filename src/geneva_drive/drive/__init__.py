"""The façade that every door calls: a Drive, its workflows, handles and queries."""
