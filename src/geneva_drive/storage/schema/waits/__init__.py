"""Tables and records of approvals and events."""
