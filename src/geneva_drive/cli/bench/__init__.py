"""`geneva bench`: what the user's own database will give, measured in tables of its own.

`ground` makes those tables and drops them, `workflows` has the classes, `measuring` the four
measurements, `figures` what came of them, `showing` the progress bar and the table.
"""
