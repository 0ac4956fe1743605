"""CityBench's Q1 and Q2 at growing rates, beside the same queries re-run on Oxigraph."""
