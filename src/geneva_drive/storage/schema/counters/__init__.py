"""The tables of the counters for charts."""
