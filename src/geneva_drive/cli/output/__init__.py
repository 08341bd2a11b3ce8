"""What commands print.

`console.py` makes tables and text for people, `bodies.py` the JSON of `--json`. `headline.py`,
`names.py` and `loops.py` word workflows, nodes and loops; `error_line.py` words errors.
"""
