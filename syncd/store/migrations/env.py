"""Alembic's environment. Migrations run in the transaction of the connection that the store hands over."""

from alembic import context

from syncd.store.model.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
with context.begin_transaction():
    context.run_migrations()
