"""What follows from an outcome: pure functions and the changes they return. No I/O.

Start with `decide`.
"""
