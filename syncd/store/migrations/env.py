"""Alembic's environment. Migrations run in the transaction of the connection that the store hands over."""

from alembic import context

from syncd.store.sqlite.search_index import TABLES
from syncd.store.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,
    compare_type=True,
    include_name=lambda name, kind, _parents: kind != "table" or name not in TABLES,
)
with context.begin_transaction():
    context.run_migrations()
