"""Who asks, what they may do, and how much.

`route_permissions.py` says which permission each route needs; `gate.py` checks it before a route
sees the request.
"""
