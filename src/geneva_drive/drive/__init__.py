"""The public API, which applications, the command line and the web call.

Start with `drive.py`: a Drive is a database with its settings. `class_workflows.py` creates and
finds the workflows of a class; `search/queries.py` lists them. `handle/` is one workflow for code
outside its steps. `explanation/` writes the sentence of `why()`, `consequences/` says what each
command would do, and `views/` makes the JSON of the REST API and of `--json`. `compatibility.py`
finds workflows that new code cannot continue.
"""
