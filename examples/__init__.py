"""Deployments and queries to start from; each runs offline."""
