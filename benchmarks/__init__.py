"""Measurements; run them all with ``make bench``."""
