"""Terms, time, events and deltas: what everything else speaks of."""
