"""The SQL statements, one module per table or question.

Start with `workflows.py`, then `executions.py`. Each class has the statements on its tables;
`store.py` creates one instance of each.
"""
