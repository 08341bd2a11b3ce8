"""Statements about approvals, events, callbacks and resume requests."""
