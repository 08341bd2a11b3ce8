"""Requests for approval, as people and code outside the workflow see and decide them.

Start with `approval`. `approvals` is `drive.approvals`, which finds them.
"""
