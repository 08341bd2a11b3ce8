"""Who may do what: permissions, the roles that grant them, and the API keys of programs.

Start with `permissions`. `keys` is `drive.keys`, and `roles` is `drive.roles`.
"""
