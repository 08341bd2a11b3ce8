"""The statements on each table, one module per table or question.

Start with `workflows`.
"""
