"""Doors for HTTP: the REST API, decision links and callbacks.

`app.py` builds the application. `api/` has one file per noun. `security/` finds out who asks and
what they may do, before a route sees the request. The pages call the Drive in a thread pool; they
decide nothing themselves.
"""
