"""Settings of the tracking ontology and rules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sensorstream.installation import bundled
from sensorstream.settings.settings import OntologySettings, RuleSettings, Settings


def tracking(folder: Path, **sections: Any) -> Settings:
    """Those of a deployment in a folder, with the sections that a test wants."""
    return Settings(
        path=folder / "sensorstream.toml",
        ontology=OntologySettings((bundled("ontologies") / "tracking.ttl",)),
        rules=RuleSettings((bundled("mapping_rules") / "tracking.rules",)),
        **sections,
    )
