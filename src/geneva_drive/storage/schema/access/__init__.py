"""Tables and records of API keys and roles."""
