"""Many mapping rules, and many events in one document."""
