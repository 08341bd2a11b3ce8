"""Doors for frameworks, each a module of its own that imports only its framework."""
