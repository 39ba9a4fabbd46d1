"""A new database for a bench on PostgreSQL."""

from __future__ import annotations

from urllib.parse import urlsplit

NAME = "syncd_bench"


def new_database(url: str) -> str:
    """Return the address of an empty database ``syncd_bench`` on the server of ``url``, whose user may make databases. One
    of that name is removed."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {NAME} WITH (FORCE)")
        connection.execute(f"CREATE DATABASE {NAME} ENCODING 'UTF8' TEMPLATE template0")
    return urlsplit(url)._replace(path=f"/{NAME}").geturl()
