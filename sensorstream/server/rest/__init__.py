"""One router for each resource."""
