"""How well a database does: what slows it down, and what a commit costs on it.

`examining` asks everything and turns a view that may not be read into a reminder; `indexes`,
`connections` and `clocks` are alike on every database, `postgresql`, `mysql` and `sqlite` are not.
"""
