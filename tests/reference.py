"""The reference tables of the documents, from the tables of the code.

``make reference`` rewrites what ``<!-- table: NAME -->`` and ``<!-- end of table -->`` enclose.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import fields, is_dataclass
from importlib import import_module
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from fastapi import FastAPI

from sensorstream import errors
from sensorstream.app.application import Application
from sensorstream.app.life.health import WatermarkNews
from sensorstream.cli.command_group import COMMANDS
from sensorstream.errors import SensorStreamError
from sensorstream.inputs.inputs import Inputs
from sensorstream.mapping.functions.function_registry import builtins
from sensorstream.server.access_rules import RULES
from sensorstream.server.listening import Server
from sensorstream.server.problems import problem_of
from sensorstream.settings import settings

_EMPTY: Final = ('""', "[]", "null")
_DOCS: Final = Path(__file__).parents[1] / "docs"
PAGES: Final = sorted(_DOCS.rglob("*.md"))
_BLOCK: Final = re.compile(r"(<!-- table: (.+?) -->\n).*?(?=<!-- end of table -->)", re.DOTALL)
_BOUNDS: Final = {
    "query": "sparql.text_bounds LONGEST MOST_PATTERNS MOST_IN_LIST MOST_COLUMNS MOST_TOKENS "
    "sparql.query_lexer DEEPEST sql.sparql.query_forms _MOST_IN_TEMPLATE _MOST_VALUES "
    "_MOST_ARGUMENTS network.plan.planner _MOST_ANEW network.intervals.pattern_blocks _MOST_WAYS",
    "connections": "server.http_connection _MOST _SPARE _HEAD_BYTES _HEADERS _AHEAD",
    "deliveries": "app.control.webhook_control _MOST alerts.poster _AT_ONCE _OF_ONE_HOST _ANSWER "
    "alerts.alert_formats MOST_TOLD MOST_ROWS history.outbox _OF_ONE _KEPT "
    "alerts.alert_records MOST_SILENCES MOST_SAID",
}
"""Constants that bound something, by module; the text below each says what."""


def rewritten(page: str, made: Mapping[str, str]) -> str:
    """A page with its tables as the code has them."""
    return _BLOCK.sub(lambda found: found[1] + made[found[2]], page)


def tables(url: str = "") -> dict[str, str]:
    """All tables by name; ``url`` is that of an empty database, by default one is started."""
    sections = dict(settings.SECTIONS)
    made = {"limits": _settings("setting", {"limits": sections.pop("limits")})}
    sections |= {f"{name}.NAME": kind for name, kind in settings.NAMED_SECTIONS.items()}
    for name, (head, types) in settings.LISTED_SECTIONS.items():
        sections[name] = head
        for each, kind in types.items():
            made[f"{name} {each}"] = _settings("option", {"": kind})
            if is_dataclass(kind.__base__) and fields(kind.__base__):
                made[each] = _settings("option", {"": kind.__base__})
    made["settings"] = _settings("setting", sections)
    made["errors"] = _table("code | HTTP | | more", _errors())
    made["functions"] = _table("function | gives", _functions())
    made["commands"] = _table("command |", ((f"`{each}`", told) for each, told in COMMANDS.items()))
    for name, text in _BOUNDS.items():
        made[f"limits of {name}"] = _table("what | at most", _bounds(text))
    with TemporaryDirectory() as folder, ExitStack() as stack:
        history = settings.HistorySettings(url)
        given = settings.Settings(Path(folder) / "sensorstream.toml", history=history)
        application = stack.enter_context(Application.open(given))
        stack.enter_context(Inputs(application))
        app = Server(application).config.app
        assert isinstance(app, FastAPI)
        app.build_middleware_stack()
        stack.callback(WatermarkNews(application.url, lambda: None, application.metrics).stop)
        made["metrics"] = _table("metric |", _metrics(application))
        made["endpoints"] = _table("path | methods and roles", _endpoints(app))
    return made


def _table(heads: str, rows: Iterable[Sequence[str]]) -> str:
    lines = (" | ".join(each.replace("|", "\\|") for each in row) for row in rows)
    ruler = f"|{'---|' * (heads.count('|') + 1)}\n"
    return f"| {heads} |\n{ruler}" + "".join(f"| {each} |\n" for each in lines)


def _sentence(text: str | None) -> str:
    """The first paragraph of a docstring, in one line."""
    return " ".join((text or "").partition("\n\n")[0].split()).replace("``", "`")


def _settings(head: str, sections: Mapping[str, type[Any]]) -> str:
    rows = []
    for section, kind in sections.items():
        for each in (found for found in fields(kind) if found.name in kind.__annotations__):
            told = each.metadata
            value = list(each.default) if isinstance(each.default, tuple) else each.default
            shown = json.dumps(value, default=str).removesuffix(".0")
            default = "required" if told["required"] else "" if shown in _EMPTY else f"`{shown}`"
            unsaid = any(choice not in told["sentence"] for choice in told["choices"] or ())
            known = f" One of {', '.join(told['choices'])}." if unsaid else ""
            name = f"{section}.{each.name.rstrip('_')}".lstrip(".")
            rows.append((f"`{name}`", default, told["sentence"] + known))
    return _table(f"{head} | default |", rows)


def _bounds(text: str) -> Iterator[Sequence[str]]:
    for word in text.split():
        if "." in word:
            module = import_module(f"sensorstream.{word}")
        else:
            about = rf'^{word}: Final = .*?\n"""(.*?)\.(?:"""|\s)'
            told = re.search(about, inspect.getsource(module), re.MULTILINE | re.DOTALL)
            assert told is not None, f"nothing is said of {word}"
            yield _sentence(told[1]), f"{getattr(module, word):,}"


def _errors() -> Iterator[Sequence[str]]:
    for each in vars(errors).values():
        if isinstance(each, type) and issubclass(each, SensorStreamError) and "code" in vars(each):
            status = str(problem_of(each("it went wrong")).status)
            exit_code = " Exit 3." if each.of_system else ""
            told = _sentence(each.__doc__) + exit_code
            yield f"`{each.code}`", status, told, _link(each)


def _link(kind: type[SensorStreamError]) -> str:
    """A link to the section about an error; raises LookupError if the documents lack it."""
    if kind.page == SensorStreamError.page:
        return ""
    name, _, place = kind.page.partition("#")
    text = (_DOCS / f"{name}.md").read_text("utf-8")
    headings = [each.strip() for each in re.findall(r"^#+ (.*)$", text, re.MULTILINE)]
    places = {"": headings[0]} | {_place(each): each for each in headings}
    return f"[{places[place]}](../{name}.md{place and '#'}{place})"


def _place(heading: str) -> str:
    return re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-")


def _functions() -> Iterator[Sequence[str]]:
    for meaning, alike in groupby(builtins().values(), lambda each: each.meaning):
        usages = (each.usage.partition(", where ") for each in alike)
        yield ", ".join(f"`{call}`{where}{how}" for call, where, how in usages), meaning


def _metrics(application: Application) -> Sequence[Sequence[str]]:
    shown = []
    for collector in application.metrics._collector_to_names:
        for each in collector.collect():
            labels = getattr(collector, "_labelnames", ()) or getattr(each, "_labelnames", ())
            name = f"{each.name}_total" if each.type == "counter" else each.name
            told = f"{{{','.join(labels)}}}" if labels else ""
            kind = "Histogram: " if each.type == "histogram" else ""
            if name.startswith("sensorstream"):
                shown.append((f"`{name}{told}`", f"{kind}{each.documentation}"))
    return sorted(shown)


def _endpoints(app: FastAPI) -> Iterator[Sequence[str]]:
    for path, operations in app.openapi()["paths"].items():
        allowed: dict[str, list[str]] = {}
        for method in operations:
            roles = RULES[method.upper(), path].roles or ("everybody",)
            allowed.setdefault(" or ".join(roles), []).append(f"`{method.upper()}`")
        told = (f"{', '.join(methods)} {roles}" for roles, methods in allowed.items())
        yield f"`{path}`", "; ".join(told)


if __name__ == "__main__":
    now = tables()
    for file in PAGES:
        file.write_text(rewritten(file.read_text("utf-8"), now), "utf-8")
