"""The options of nodes and classes, parsed and checked when the class is created.

Start with `options`. `keywords` types the decorators' keywords; `conditions`, `policies`, `backoff`
and `iteration` are the options with behaviour of their own.
"""
