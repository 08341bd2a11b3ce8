"""Workflow classes, their nodes, conditions and policies, compiled to a definition.

Start with `workflow`. When Python creates a workflow class, `compiler` turns its body into an
immutable `Definition`, and `registry` stores that by type. A fault in the class raises an error
with its file and line. `nodes` has a module per decorator, `options` parses their keywords,
`dynamic` builds graphs in code. Nothing here knows a database, a process or a terminal.
"""
