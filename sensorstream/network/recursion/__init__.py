"""Rules that write their conclusions to the graph they read, as in a deductive database."""
