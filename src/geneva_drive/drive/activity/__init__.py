"""How much was done, for charts, and what needs whom, for the front page."""
