"""The tables of the store (``tables``), how values are kept in their columns (``columns``, ``job_columns``), and how a statement
on them is written (``sql``)."""
