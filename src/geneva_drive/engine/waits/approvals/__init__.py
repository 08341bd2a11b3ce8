"""Waits for people: requests, votes, links and their endings. Start with `approval`."""
