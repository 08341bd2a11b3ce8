"""Resumable loops: what they walk through, and how they find their place again.

Pure: nothing here knows a database or a worker. Every source is a stream of pairs, an item and the
cursor that says "this item is done", and begins after a saved cursor; None means from the start.
A query is seen only through the small protocol in `sources/records`.
"""
