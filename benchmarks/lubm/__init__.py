"""Rule sets on the Lehigh University Benchmark, beside other engines."""
