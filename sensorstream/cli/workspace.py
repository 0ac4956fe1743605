"""Working folders, as written by ``init`` and ``demo``."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Final

from sensorstream.cli.options import SETTINGS_FILE
from sensorstream.cli.settings_file import Given, settings_text
from sensorstream.resources import bundled


@dataclass(frozen=True, slots=True)
class Template:
    """A kind of working folder.

    ``name`` is also the name of its ontology and of its rule file; ``settings`` are those that
    differ from the defaults; ``messages`` makes the sample messages, by file name.
    """

    name: str
    sentence: str
    settings: Given
    messages: Callable[[], Iterable[tuple[str, bytes]]]


def _tracker_samples() -> Iterable[tuple[str, bytes]]:
    from sensorstream.simulation.tracker import PAPER_MESSAGE, tracker_messages

    yield "paper.xml", PAPER_MESSAGE
    for number, message in enumerate(tracker_messages(5, start=2679), 2679):
        yield f"face-{number}.xml", message


def _city_samples() -> Iterable[tuple[str, bytes]]:
    from sensorstream.simulation.city import MADE_UP, made_up

    before_the_jam = made_up(MADE_UP.jam - timedelta(minutes=15), MADE_UP.jam)
    for number, each in enumerate(before_the_jam, 1):
        yield f"{number:02}-{each.kind}-{each.sensor}.xml", each.xml()


_COMMON: Final[Given] = {
    "reasoning": {"profile": "hermit"},
    # For first trials, because the webhook receiver is usually on the same machine.
    "webhooks": {"allow_private": True},
}

TEMPLATES: Final[Mapping[str, Template]] = MappingProxyType(
    {
        template.name: template
        for template in (
            Template(
                "tracking",
                "people seen by a face tracker, on a time line of integers",
                {**_COMMON, "time": {"line": "integer"}, "window": {"size": "1000"}},
                _tracker_samples,
            ),
            Template(
                "city",
                "traffic, weather and air of a city, on a time line of dates and times",
                {
                    **_COMMON,
                    "time": {"line": "datetime"},
                    "window": {"unit": "time", "size": "PT1H", "step": "PT5M"},
                },
                _city_samples,
            ),
        )
    }
)


def make_workspace(folder: Path, template: Template, overrides: Given | None = None) -> Path:
    """Fill an empty or new folder; ``overrides`` take precedence over the template's settings.

    Returns:
        The path of its settings file.
    """
    for name in ("ontology", "rules", "messages"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    ontology, rules = f"{template.name}.ttl", f"{template.name}.rules"
    shutil.copyfile(bundled("ontologies") / ontology, folder / "ontology" / ontology)
    shutil.copyfile(bundled("mapping_rules") / rules, folder / "rules" / rules)
    for name, message in template.messages():
        (folder / "messages" / name).write_bytes(message)
    files: Given = {
        "ontology": {"files": ["ontology/*.ttl"]},
        "rules": {"files": ["rules/*.rules"]},
    }
    settings: dict[str, dict[str, object]] = {}
    for section, values in itertools.chain.from_iterable(
        given.items() for given in (files, template.settings, overrides or {})
    ):
        settings.setdefault(section, {}).update(values)
    path = folder / SETTINGS_FILE
    path.write_text(settings_text(_HEADING.format(sentence=template.sentence), settings), "utf-8")
    (folder / "README.md").write_text(_README.format(sentence=template.sentence), "utf-8")
    return path


_HEADING: Final = """\
The settings of this deployment: {sentence}.
A setting in a comment has the value shown there. Relative paths start at this
file. The environment variable SENSORSTREAM_<SECTION>_<NAME> wins over this file.
"""

_README: Final = """\
# A SensorStream deployment

Its subject: {sentence}.

| here | what |
|---|---|
| `sensorstream.toml` | every setting, with a sentence |
| `ontology/` | the classes and properties |
| `rules/` | how messages become individuals, and the reactions |
| `messages/` | messages to try |
| `data/` | the history, once the server has run |

In this folder:

```sh
sensorstream check                       # check the settings, the ontology and the rules
sensorstream map messages/*.xml          # show the result of the rules for these messages
sensorstream serve                       # run the server; stop it with Ctrl-C
```

and beside the running server, in a second terminal:

```sh
sensorstream send messages/*.xml
sensorstream query "SELECT ?class (COUNT(*) AS ?individuals) {{ ?x a ?class }} GROUP BY ?class"
sensorstream sql "SELECT * FROM history.messages"
```
"""
