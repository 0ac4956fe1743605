"""The history's old partitions, moved from PostgreSQL to Parquet files that answer SQL."""
