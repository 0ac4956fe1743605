"""Questions to a warm Spark in a process of its own: the worker, and the caller's side of it."""
