"""Faults under load, as a program: see ``__main__``."""
