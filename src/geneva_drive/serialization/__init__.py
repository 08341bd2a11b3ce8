"""Typed JSON: values are stored as JSON and come back with the type they had.

Start with `typed_json`. `stored_types` are the types it knows, `serializers` has the types that
users register.
"""
