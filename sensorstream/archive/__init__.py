"""What left PostgreSQL: the history's old partitions, as Parquet files that answer SQL."""
