"""What runs inside the process of a system: its workflows, its worker and its client.

Each driver is started as `python -m benchmarks.drivers.<name> <role>` by the interpreter of the
environment that has the system: `prepare` makes the tables, `work` runs until SIGTERM, and `obey`
starts workflows and answers in JSON lines.
"""
