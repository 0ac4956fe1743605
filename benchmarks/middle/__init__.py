"""The speed and size of the middle: aggregates, indexes, event files, grammars, LUBM."""
