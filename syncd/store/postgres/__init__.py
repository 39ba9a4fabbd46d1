"""A store on PostgreSQL: the only package of the store that knows this database."""

from syncd.store.postgres.database import PostgresDatabase
