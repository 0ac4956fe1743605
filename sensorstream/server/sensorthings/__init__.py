"""OGC SensorThings API 1.1, read side: SOSA data of history and the window as its entities."""
