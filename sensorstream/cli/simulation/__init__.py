"""Streams to try SensorStream with: tracker messages and city sensors."""
