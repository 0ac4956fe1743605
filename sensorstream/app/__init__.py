"""The one place that wires all parts and their life cycle."""
