"""Terms, time, events and deltas: the data that all other packages use."""
