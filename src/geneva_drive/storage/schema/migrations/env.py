"""Alembic's environment: the migrator passes the database in `plan`."""

from __future__ import annotations

from alembic import context

plan = context.config.attributes["plan"]

if plan.connection is None:
    context.configure(
        # Types depend on the driver, and SQLAlchemy's default driver may not be the Drive's.
        dialect_name=f"{plan.dialect_name}+{plan.driver}",
        dialect_opts={"paramstyle": "named"},
        version_table=plan.version_table,
        literal_binds=True,
        as_sql=True,
        transactional_ddl=plan.transactional_ddl,
    )
else:
    context.configure(connection=plan.connection, version_table=plan.version_table)

with context.begin_transaction():
    context.run_migrations()
