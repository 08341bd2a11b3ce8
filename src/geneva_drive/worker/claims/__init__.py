"""Taking executions: how many to claim, whose turn it is, and under which token.

Start with `claimer`.
"""
