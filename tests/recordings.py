"""The recordings of CityBench, for tests that compare with them."""

from __future__ import annotations

from typing import Final

import pytest

from sensorstream.cli.simulation.city_messages import beside_the_source

NO_RECORDINGS: Final = (
    "the recordings of CityBench, which may not be passed on, are not beside the checkout, in "
    "../shared/data/citybench"
)
needs_recordings = pytest.mark.skipif(beside_the_source() is None, reason=NO_RECORDINGS)
