"""A workflow as code outside its steps holds it: fields, graph, results, family and commands.

Start with `handle`. `commands` is where every command of an operator enters the engine.
"""
