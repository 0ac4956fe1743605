"""What SensorStream does, beside others that do the same, by turns on the same data."""
