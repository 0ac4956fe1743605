"""Processes of the package's own modules: start, questions, limits and end."""
