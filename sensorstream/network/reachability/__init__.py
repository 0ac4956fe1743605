"""Reachability in a graph whose steps (edges) are added and removed."""
