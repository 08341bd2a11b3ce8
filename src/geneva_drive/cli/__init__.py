"""The doors for the shell: `geneva` and its commands.

Start with `main.py`. `group.py` loads the command that is called and turns errors into exit codes,
`drive_options.py` finds the Drive, and `commands/` has one module per command. `output/` prints;
`supervisor.py`, `lifeline.py` and `signals.py` run worker processes.
"""
