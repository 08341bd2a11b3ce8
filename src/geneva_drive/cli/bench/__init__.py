"""The measurements of `geneva bench`, on tables of its own.

`measurement.py` runs them. `tables.py` creates and drops the tables, `workflows.py` defines the
measured classes, `results.py` holds the results, and `report.py` prints them.
"""
