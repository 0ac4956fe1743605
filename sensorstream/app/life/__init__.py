"""The life of a deployment: its start, pipeline, recovery, health and upkeep."""
