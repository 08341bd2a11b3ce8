"""Workflows that nobody is running any more: lost workers and orphans."""
