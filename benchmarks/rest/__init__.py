"""W10: the REST API beside a million workflows.

`population.py` fills a database of its own by SQL; `latencies.py`, `starts.py` and `streams.py`
measure. Run it with `python -m benchmarks.rest --scale 0.1`.
"""
