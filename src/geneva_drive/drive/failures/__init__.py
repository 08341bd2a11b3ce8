"""Failures in groups: `drive.failures()`.

Start with `failures`. `message_pattern` removes the numbers and names in which messages differ.
"""
