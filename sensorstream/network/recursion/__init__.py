"""Rules that write what follows back to the graph they read: a deductive database's core."""
