"""The façade that every door calls.

Start with `drive.py`: a Drive is a database with its settings. `class_workflows.py` creates and
finds the workflows of a class, `queries.py` lists them. `handle.py` is one workflow for code
outside its steps: `handle_fields.py` reads it, `handle_graph.py` shows its graph,
`handle_commands.py` changes it. `explanation.py` holds the words of `why()`, and
`compatibility.py` finds workflows that new code cannot continue.
"""
