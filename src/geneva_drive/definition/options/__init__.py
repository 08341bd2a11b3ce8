"""The options of nodes and classes, parsed and checked when the class is created.

Start with `options`. `keywords` types the decorators' keywords; `conditions`, `policies`,
`backoff`, `iteration`, `expansion` and `map_items` are the options with behaviour of their own.
"""
