"""What approvals and event waits hand to a body, and the checks of what they take."""
