"""Ways for messages to come in besides HTTP: a folder, MQTT, Kafka, TCP."""
