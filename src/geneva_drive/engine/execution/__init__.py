"""Running one execution: from a claim, through user code, to a committed outcome.

Start with `executor`.
"""
