"""The Lehigh University Benchmark: departments, queries, rules."""
