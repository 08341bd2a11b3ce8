"""The history of the schema, applied by Alembic."""
