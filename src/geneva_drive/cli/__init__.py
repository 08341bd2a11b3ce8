"""Doors for the shell: `geneva` and its commands.

`group` finds a command and turns errors into exit codes, `opening` finds the Drive, `commands` has
one module per command, which is loaded when it is called. Nobody imports this room.
"""
