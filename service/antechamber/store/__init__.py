"""Storage: the SQL statements, the schema and the engines; no other package uses SQL."""
