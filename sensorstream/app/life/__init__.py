"""How a deployment starts, takes entries in, and does: pipeline, recovery, health, upkeep."""
