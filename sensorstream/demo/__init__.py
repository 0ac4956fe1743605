"""``sensorstream demo``: two deployments, live, with every claim checked."""
