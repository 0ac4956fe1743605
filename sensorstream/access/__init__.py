"""The identity and roles of a client: keys, tokens, roles."""
