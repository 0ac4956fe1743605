"""What the engine is measured against, each in a process of its own."""
