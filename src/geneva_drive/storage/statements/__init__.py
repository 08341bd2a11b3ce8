"""The statements on each table, one module per table or question.

Open `workflows.py` first, then `executions.py`. Each class holds the statements on its tables;
`store.py` makes one of each.
"""
