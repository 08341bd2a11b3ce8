"""Failures in groups: `drive.failures()`.

Start with `failures`. `message` makes messages alike that differ only in numbers and names.
"""
