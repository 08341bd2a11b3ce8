"""What happens next: outcomes, decisions, and the one door through which state is written.

User code runs in `executor`, under no lock, and ends in one of the closed union of outcomes. What
follows from an outcome is decided by pure functions in `decide`, and written, for one execution or
five hundred, by `commit`. Commands from outside go through the same door.
"""
