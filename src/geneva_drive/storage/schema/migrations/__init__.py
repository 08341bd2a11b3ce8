"""The migrations of the schema, applied by Alembic."""
