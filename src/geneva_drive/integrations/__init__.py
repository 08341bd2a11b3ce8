"""Doors for frameworks: one module for each framework, which imports only that one."""
