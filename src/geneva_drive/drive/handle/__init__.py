"""A handle, which is a workflow for code outside its steps: fields, graph, results, commands.

Start with `handle`. Every command of an operator enters the engine in `commands`.
"""
