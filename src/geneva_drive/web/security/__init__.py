"""Authentication, permissions, and the limits on requests.

`route_permissions.py` says which permission each route needs; `gate.py` checks it before a route
sees the request.
"""
