"""Who a client is, and which roles it has: keys, tokens, roles."""
