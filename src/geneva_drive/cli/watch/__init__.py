"""`geneva watch`: one workflow, looked at until it has ended or is paused.

`observer` reads it, `frame` makes a screen of it; `views` are the terminal, the plain lines and
the JSON lines that it is shown as.
"""
