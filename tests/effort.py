"""How much the property tests try: ``TEST_EFFORT=10`` makes them a campaign (``make campaign``)."""

from __future__ import annotations

import os


def examples(usual: int) -> int:
    """The number of examples for a slow property test; ``usual`` in a plain run.

    With ``CI`` set the same examples come in each run: many of them would find nothing new.
    """
    return max(1, round(usual * float(os.environ.get("TEST_EFFORT", "1"))))
