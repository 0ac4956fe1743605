"""The settings: their values and defaults, and the file that they are read from."""
