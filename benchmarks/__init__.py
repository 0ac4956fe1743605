"""Measurements: all that is compared with others, ``make bench``; the rest by name."""

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
"""The folder of the source."""
