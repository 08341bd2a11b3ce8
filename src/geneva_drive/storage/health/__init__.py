"""How well a database does: what slows it down, and what a commit costs on it."""
