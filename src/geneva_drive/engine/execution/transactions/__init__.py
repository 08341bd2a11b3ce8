"""Steps and loops whose writes commit with their outcome."""
