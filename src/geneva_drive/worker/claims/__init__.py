"""Claims: how many executions to claim (`prefetch`), and which workflow's turn it is (`fairness`).

Start with `claimer`, which claims what is due.
"""
