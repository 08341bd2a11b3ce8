"""The same work on this library and on its peers, side by side: `make bench`.

This package imports nothing here, as its drivers run in two environments: ours, and the peers'.
"""
