"""Processes of our own: how one is started, asked, limited and ended."""
