"""The routers, one for each resource."""
