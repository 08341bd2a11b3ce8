"""Processes that the command line starts, stops and watches."""
