"""``python -m sensorstream``."""

from sensorstream.cli import main

main(prog_name="sensorstream")
