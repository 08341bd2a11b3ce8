"""What a workflow is: classes, nodes, conditions and policies, compiled to a definition.

Start with `workflow`. Python creates a workflow class, `compiler` turns its body into an immutable
`Definition`, and `registry` keeps that by type. A fault in the class raises an error there, with
file and line. `nodes` has a module per decorator, `options` reads their keywords, `dynamic` builds
graphs in code. Pure: nothing here knows a database, a process or a terminal.
"""
