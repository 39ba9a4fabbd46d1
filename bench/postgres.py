"""A new database for a bench on PostgreSQL."""

from urllib.parse import urlsplit

NAME = "syncd_bench"


def new_database(url: str, name: str = NAME) -> str:
    """Return the address of an empty database ``name`` on the server of ``url``, whose user may make databases. One of that
    name is removed."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
        connection.execute(f"CREATE DATABASE \"{name}\" ENCODING 'UTF8' TEMPLATE template0")
    return urlsplit(url)._replace(path=f"/{name}").geturl()


def vacuum(url: str) -> None:
    """Do at once what the server's autovacuum does some time after many writes: what is measured then does not depend on
    when that was."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")
