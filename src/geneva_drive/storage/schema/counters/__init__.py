"""The tables of counters, which charts are drawn from."""
