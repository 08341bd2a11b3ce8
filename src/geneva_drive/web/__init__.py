"""Doors for HTTP: the REST API, the dashboard, decision links and callbacks.

`app.py` builds the application. `api/` has one file per noun, `dashboard/` one per page, and
`root/` the routes beside them. `security/` checks credentials and permissions before a route sees
the request. Routes call the Drive in a thread pool; they decide nothing themselves.
"""
