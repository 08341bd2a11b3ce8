"""Steps and loops with `transaction=True`, whose writes commit with their outcome."""
