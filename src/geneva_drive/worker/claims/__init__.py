"""Claims: how many executions to claim (`prefetch`), and whose turn it is (`fairness`).

Start with `claimer`, which claims what is due.
"""
