"""Limits: which slots an execution needs, who gets them, and who waits for one."""
