"""The values that approvals and event waits pass to a body, and checks of their arguments."""
