"""The parts of ``sensorstream demo``: its scenario, its servers, and what it prints."""
