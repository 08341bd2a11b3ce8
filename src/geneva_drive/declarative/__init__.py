"""Workflows as JSON documents. Pure: no database, no web framework.

`document` and `steps` hold the types, `validator` parses a document and reports every fault
(`faults/`), `routes` decides where a workflow goes next, `condition` and `templates` evaluate
expressions (within `bounds/`), `actions/` runs the actions of steps, and `simulation/` runs a
document without a database.

Nothing is imported here, so that `import geneva_drive` loads neither pydantic nor an extra.
"""
