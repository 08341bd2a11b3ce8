"""Typed JSON: values are stored as JSON and loaded with their original types.

Start with `typed_json`. `stored_types` has the built-in types, `serializers` those that users
register.
"""
