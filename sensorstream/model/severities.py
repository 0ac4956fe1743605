"""How grave an alert is."""

from __future__ import annotations

from typing import Final

SEVERITIES: Final = ("info", "warning", "critical")
"""From the least to the gravest."""
