"""SQL names for the classes and properties of an ontology.

``hasXLocation`` becomes ``has_x_location``. Every view and every column has a unique name:
where two would be the same, classes go before properties and then the IRI that sorts first keeps
the plain name; the others get ``_class`` or ``_property``, and a number if that is taken too. The
names of the fixed views and columns are reserved.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Mapping
from typing import Final

from sensorstream.model.schema import Schema, local_name
from sensorstream.model.terms import IRI

FIXED_VIEWS: Final = ("individuals", "statements", "messages", "alerts")
FIXED_COLUMNS: Final = ("iri", "time", "expired_at", "message_id")
# PostgreSQL cuts names after 63 bytes; ours are ASCII.
_LONGEST: Final = 63
_BOUNDARY: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_OTHER: Final = re.compile(r"[^a-z0-9]+")


def sql_names(schema: Schema) -> Mapping[IRI, str]:
    """One SQL name for each class and property; the same schema gives the same names."""
    taken = {*FIXED_VIEWS, *FIXED_COLUMNS}
    names: dict[IRI, str] = {}
    properties = schema.object_properties | schema.datatype_properties
    for suffix, kind in (("class", schema.classes), ("property", properties)):
        for iri in sorted(kind):
            if iri in names:
                continue
            plain = snake_case(local_name(iri))
            for name in itertools.chain(
                [_cut(plain), _cut(plain, f"_{suffix}")],
                (_cut(plain, f"_{suffix}_{number}") for number in itertools.count(2)),
            ):
                if name not in taken:
                    break
            names[iri] = name
            taken.add(name)
    return names


def snake_case(name: str) -> str:
    """Lower-case words of a local name, joined by ``_``; ASCII, never empty, no digit first."""
    spaced = _BOUNDARY.sub("_", name)
    ascii_only = unicodedata.normalize("NFKD", spaced).encode("ascii", "ignore").decode()
    words = _OTHER.sub("_", ascii_only.lower()).strip("_")
    if not words:
        return "unnamed"
    return f"n{words}" if words[0].isdigit() else words


def _cut(name: str, suffix: str = "") -> str:
    return f"{name[: _LONGEST - len(suffix)]}{suffix}"
