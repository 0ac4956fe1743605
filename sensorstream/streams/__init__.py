"""Continuous queries over streams: windows, instants and reports around the network."""
