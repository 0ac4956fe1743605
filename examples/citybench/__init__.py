"""The queries of the CityBench benchmark, over its recordings."""
