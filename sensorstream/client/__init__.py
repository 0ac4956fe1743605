"""Clients of a running server over HTTP, blocking or with asyncio."""
