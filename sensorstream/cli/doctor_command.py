"""``sensorstream doctor``: what could keep a deployment from its work; ``config``: its settings.
Both look, and change nothing.
"""

from __future__ import annotations

import os
import resource
import shutil
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from enum import Enum
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from sensorstream.cli.command_client import CommandClient
from sensorstream.cli.command_kinds import asks
from sensorstream.cli.options import address, config_option, json_option
from sensorstream.cli.terminal import cell, lasting, print_json, print_table
from sensorstream.errors import MissingExtra, SensorStreamError, SettingsError
from sensorstream.installation import require
from sensorstream.model.frozen import asdict, frozen
from sensorstream.model.timeline import Timeline
from sensorstream.settings.endpoints import KafkaConnection, MqttConnection
from sensorstream.settings.settings import Settings
from sensorstream.settings.settings_file import load_settings, read_settings

if TYPE_CHECKING:
    from psycopg2 import extensions

_SCARCE: Final = 1 << 30
"""Bytes of a disk below which it is nearly full: the write-ahead log alone may take as many."""
_FULL: Final = 64 << 20
_FILES: Final = 1024
_PATIENCE: Final = 5.0
"""Seconds that another program or machine gets to answer."""
_CLOCK: Final = 2.0
"""Seconds that the clocks of two machines may differ."""
_MONTH: Final = 30 * 86_400


class Level(Enum):
    """The severity of a finding; ``FAULT`` keeps the server from its work."""

    OK = "ok"
    WARNING = "warning"
    FAULT = "fault"


_POOLER: Final = "connect to PostgreSQL itself, or let the pooler between pass on 'options'"
_OF_SERVER: Final = "set it in postgresql.conf, which is PostgreSQL's default"
# Sessions of ours set jit and TimeZone themselves; the others are the server's.
_NEEDED: Final = (
    ("jit", "off", "each message costs some 30 ms more", _POOLER),
    ("TimeZone", "UTC", "times are told in another zone", _POOLER),
    ("fsync", "on", "a crash of the machine may lose all", _OF_SERVER),
    ("full_page_writes", "on", "a crash of the machine may lose all", _OF_SERVER),
    ("autovacuum", "on", "tables grow, and questions become slow", _OF_SERVER),
    ("track_counts", "on", "without it there is no autovacuum", _OF_SERVER),
)


@frozen
class Finding:
    """A finding, and the way out if it is bad."""

    name: str
    level: Level
    told: str
    remedy: str = ""


@click.command("doctor")
@config_option
@json_option
def command(config: Path, as_json: bool) -> None:
    """Look for what keeps a deployment from its work, and tell the way out.

    Settings, packages, permissions, disks, port, certificate, clock, Java, PostgreSQL and webhooks;
    beside a running server or without one. Exits with 1 if there is a fault; a warning is none.
    """
    found: list[Finding] = []
    with lasting("looking at the deployment"):
        try:
            settings = load_settings(config)
        except SettingsError as error:
            remedy = "correct it: nothing else can be looked at before"
            found.append(Finding("settings", Level.FAULT, str(error), remedy))
        else:
            found.append(Finding("settings", Level.OK, f"{config} can be read"))
            found += findings(settings)
    if as_json:
        told = [asdict(each) for each in found]
        print_json([{**e, "level": e["level"].value, "remedy": e["remedy"] or None} for e in told])
    else:
        for each in found:
            click.echo(f"{each.level.value:8}{each.name}: {each.told}")
            if each.remedy:
                click.echo(f"        → {each.remedy}")
    if any(each.level is Level.FAULT for each in found):
        raise click.exceptions.Exit(1)


def findings(settings: Settings) -> Iterator[Finding]:
    """Make all checks of a deployment, one after the other."""
    for check in (
        _versions,
        _extras,
        _permissions,
        _disks,
        _open_files,
        _port,
        _certificate,
        _clock,
        _future,
        _java,
        _postgres,
    ):
        yield from check(settings)


def _versions(_settings: Settings) -> Iterator[Finding]:
    version = ".".join(map(str, sys.version_info[:3]))
    told = f"SensorStream {metadata.version('sensorstream')}, Python {version}"
    yield Finding("versions", Level.OK, told)


def _extras(settings: Settings) -> Iterator[Finding]:
    options: list[object] = [each.options for each in settings.inputs]
    options += [each.options for each in settings.outputs]
    needed = {
        "mqtt": any(isinstance(each, MqttConnection) for each in options),
        "kafka": any(isinstance(each, KafkaConnection) for each in options),
        "oidc": bool(settings.http.issuer),
        "spark": settings.pipeline.runner == "spark",
        "traces": bool(settings.traces.endpoint),
        "reasoners": settings.reasoning.profile in ("hermit", "pellet"),
    }
    for extra in (name for name, used in needed.items() if used):
        try:
            require(extra, "a setting")
        except MissingExtra as error:
            yield Finding("packages", Level.FAULT, error.message, "install the extra")
        else:
            yield Finding("packages", Level.OK, f"the extra {extra} is installed")


def _permissions(settings: Settings) -> Iterator[Finding]:
    name = "permissions"
    for file in (settings.path, *settings.ontology.files, *settings.rules.files):
        if not os.access(file, os.R_OK):
            remedy = "make it, or let this user read it"
            yield Finding(name, Level.FAULT, f"{file} cannot be read", remedy)
    for folder in _folders(settings):
        there = _nearest(folder)
        if not os.access(there, os.W_OK | os.X_OK):
            remedy = f"let the user {os.geteuid()} write there (chown), or choose another folder"
            yield Finding(name, Level.FAULT, f"{there} cannot be written", remedy)
        else:
            yield Finding(name, Level.OK, f"{folder} can be written")
    key = settings.http.private_key or settings.http.certificate
    if key is not None and key.exists() and key.stat().st_mode & 0o077:
        yield Finding(name, Level.WARNING, f"others can read {key}", f"chmod 600 {key}")


def _disks(settings: Settings) -> Iterator[Finding]:
    for folder in _folders(settings):
        free = shutil.disk_usage(_nearest(folder)).free
        told = f"{folder}: {free / (1 << 30):.1f} GiB are free"
        if free >= _SCARCE:
            yield Finding("disk", Level.OK, told)
            continue
        level = Level.FAULT if free < _FULL else Level.WARNING
        remedy = "free some: 'sensorstream archive' moves old history out, other disks hold it"
        yield Finding("disk", level, told, remedy)


def _open_files(_settings: Settings) -> Iterator[Finding]:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < _FILES:
        remedy = f"ulimit -n {_FILES}, or LimitNOFILE= of the systemd unit"
        yield Finding("open files", Level.WARNING, f"only {soft} at once", remedy)
    else:
        yield Finding("open files", Level.OK, f"{soft} at once")


def _port(settings: Settings) -> Iterator[Finding]:
    from sensorstream.cli.serve_command import bind, check_reach

    told = f"{settings.server.host} port {settings.server.port}"
    try:
        check_reach(settings.server.host, settings.http)
    except SettingsError as error:
        yield Finding("port", Level.FAULT, told, error.message)
        return
    try:
        bind(settings.server.host, settings.server.port).close()
    except SensorStreamError as error:
        if _answers(settings):
            yield Finding("port", Level.OK, f"a server of ours answers at {address(settings)}")
        else:
            remedy = "end the program that has it, or set server.port"
            yield Finding("port", Level.FAULT, error.message, remedy)
    else:
        yield Finding("port", Level.OK, f"{told} is free")


def _answers(settings: Settings) -> bool:
    try:
        with CommandClient(address(settings)) as client:
            client.alive()
    except SensorStreamError:
        return False
    return True


def _certificate(settings: Settings) -> Iterator[Finding]:
    from sensorstream.server.tls import Certificate

    file = settings.http.certificate
    try:
        Certificate.of(settings.http)
    except SettingsError as error:
        yield Finding("certificate", Level.FAULT, error.message, "see docs/operate/security.md")
        return
    if file is None:
        return
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(file)
    ends = [
        ssl.cert_time_to_seconds(str(each["notAfter"])) - time.time()
        for each in context.get_ca_certs()
    ]
    if not ends:
        yield Finding("certificate", Level.OK, f"{file} fits its key")
        return
    left = min(ends)
    level = Level.FAULT if left <= 0 else Level.WARNING if left < _MONTH else Level.OK
    told = f"{file} is valid for {left / 86_400:.0f} more days" if left > 0 else f"{file} is over"
    yield Finding("certificate", level, told, "" if level is Level.OK else "renew it")


def _clock(_settings: Settings) -> Iterator[Finding]:
    """Whether the kernel knows that its clock is right (adjtimex(2))."""
    import ctypes

    try:
        # A struct of zeros, of 208 bytes, asks and sets nothing.
        state = ctypes.CDLL(None).adjtimex(ctypes.create_string_buffer(512))
    except (OSError, AttributeError):
        state = -1
    if state < 0:
        yield Finding("clock", Level.OK, "whether it is synchronised cannot be asked here")
    elif state == 5:
        remedy = "run chrony or systemd-timesyncd: times of arrival and keys that expire need it"
        yield Finding("clock", Level.WARNING, "no time server synchronises it", remedy)
    else:
        yield Finding("clock", Level.OK, "synchronised")


def _future(settings: Settings) -> Iterator[Finding]:
    """Whether one wrong time could make all messages after it late."""
    if settings.time.timeline is Timeline.INTEGER and not settings.time.ahead:
        told = "a message is refused for its time only if it is 10^9 usual steps ahead"
        remedy = "if times are seconds since 1970, set time.ahead (e.g. 3600): nobody else knows"
        yield Finding("time", Level.WARNING, told, remedy)


def _java(settings: Settings) -> Iterator[Finding]:
    from sensorstream.reasoning.dl.reasoner_process import java_home

    if settings.reasoning.profile not in ("hermit", "pellet"):
        told = f"the profile {settings.reasoning.profile} needs none"
        yield Finding("java", Level.OK, told)
        return
    remedy = "let reasoning.java be empty for the Java that comes as a wheel, or a home of Java 25+"
    try:
        program = java_home(settings.reasoning.java) / "bin" / "java"
        done = subprocess.run(
            [program, "-version"], capture_output=True, text=True, timeout=60, check=True
        )
    except (SensorStreamError, ImportError, OSError, subprocess.SubprocessError) as error:
        yield Finding("java", Level.FAULT, str(error), remedy)
        return
    words = done.stderr.split('"')
    version = words[1] if len(words) > 1 else "?"
    if not version.split(".")[0].isdigit() or int(version.split(".")[0]) < 25:
        yield Finding("java", Level.FAULT, f"Java {version}, expected 25 or newer", remedy)
    else:
        yield Finding("java", Level.OK, f"Java {version} runs")


def _postgres(settings: Settings) -> Iterator[Finding]:
    from sensorstream.history import embedded
    from sensorstream.history.database import connect, describe, translating
    from sensorstream.history.open_history import open_history

    kept = settings.history
    if not kept.url and not (kept.folder.expanduser() / "cluster").exists():
        try:
            program = embedded.binaries() / "postgres"
            version = subprocess.check_output([program, "--version"], text=True, timeout=60)
        except (OSError, subprocess.SubprocessError, ImportError) as error:
            yield Finding("postgres", Level.FAULT, str(error), "install the package again")
        else:
            told = f"{version.strip()}; the first start makes its files"
            yield Finding("postgres", Level.OK, told)
        return
    with ExitStack() as stack:
        try:
            url = open_history(kept, stack)
            connection = stack.enter_context(closing(connect(url)))
            with translating("cannot ask PostgreSQL"), connection.cursor() as cursor:
                begun = time.time()
                cursor.execute(
                    "select current_setting('server_version'), extract(epoch from "
                    "clock_timestamp())::float8, to_regclass('store.webhooks') is not null"
                )
                version, there, prepared = cursor.fetchone() or ("?", begun, False)
        except SensorStreamError as error:
            remedy = "see history.url" if kept.url else f"see {kept.folder / 'log'}"
            yield Finding("postgres", Level.FAULT, error.message, remedy)
            return
        place = describe(url) if kept.url else "embedded"
        yield Finding("postgres", Level.OK, f"PostgreSQL {version} answers ({place})")
        with connection.cursor() as cursor:
            yield from _unset(cursor)
        apart = abs(there - begun)
        if apart > _CLOCK:
            remedy = "synchronise both machines"
            told = f"PostgreSQL's differs by {apart:.0f} s"
            yield Finding("clock", Level.WARNING, told, remedy)
        if prepared:
            yield from _webhooks(settings, url)
            yield from _backups(settings, url, connection.server_version // 10_000)


def _unset(cursor: extensions.cursor) -> Iterator[Finding]:
    """The settings that a session of ours needs and did not get."""
    from sensorstream.history.reader_role import reader_lacks

    for name, wanted, told, remedy in _NEEDED:
        cursor.execute("select current_setting(%s)", (name,))
        (found,) = cursor.fetchone() or ("?",)
        if found != wanted:
            yield Finding("postgres", Level.WARNING, f"{name} is {found}: {told}", remedy)
    if lacks := reader_lacks(cursor):
        told = "the role that reads cannot be given its settings: questions of many rows are slow"
        yield Finding("postgres", Level.WARNING, told, f"as its owner: {'; '.join(lacks)}")


def _webhooks(settings: Settings, url: str) -> Iterator[Finding]:
    from sensorstream.alerts.targets import check_addresses, place_of, read_url, resolve
    from sensorstream.history.database import engine
    from sensorstream.history.webhook_store import PostgresWebhooks

    with ExitStack() as stack:
        database = engine(url)
        stack.callback(database.dispose)
        try:
            states = PostgresWebhooks(database).all()
        except SensorStreamError as error:
            remedy = "start the server once: it brings the tables of an older version up to date"
            yield Finding("webhooks", Level.WARNING, error.message, remedy)
            return
    for state in states:
        webhook = state.webhook
        if webhook.output:
            continue
        shown = f"{webhook.id} ({place_of(webhook.url)})"
        if state.disabled_at is not None:
            remedy = f"sensorstream webhooks enable {webhook.id}"
            yield Finding("webhooks", Level.WARNING, f"{shown} is disabled", remedy)
        try:
            place = read_url(webhook.url)
            found = resolve(place.host, place.port)
            target = check_addresses(place, found, settings.webhooks.allow)[0]
            with socket.create_connection((str(target), place.port), timeout=_PATIENCE):
                pass
        except (SensorStreamError, OSError) as error:
            remedy = "see to the receiver, or to the firewall between"
            yield Finding("webhooks", Level.WARNING, f"{shown}: {error}", remedy)
        else:
            yield Finding("webhooks", Level.OK, f"{shown} can be reached")


def _backups(settings: Settings, url: str, server: int) -> Iterator[Finding]:
    """Whether a backup would be whole; ``server`` is the major version of PostgreSQL."""
    from sensorstream.app.life.backup import archive_files, named_files
    from sensorstream.history.embedded import binaries

    gaps: list[Path] = []
    try:
        told = subprocess.check_output([binaries() / "pg_dump", "--version"], text=True, timeout=60)
        version = told.split()[-1]
        if int(version.partition(".")[0]) < server:
            remedy = f"dump the database with the pg_dump of PostgreSQL {server}"
            told = f"pg_dump {version} cannot read PostgreSQL {server}: 'backup' fails"
            yield Finding("backups", Level.FAULT, told, remedy)
        with archive_files(url, settings.archive.folder, read=False) as (_, lost):
            for each in lost:
                remedy = "bring it back from a backup: its rows are nowhere else"
                yield Finding("backups", Level.FAULT, f"{each}: lost from the archive", remedy)
        _, gaps = named_files(settings)
    except (SensorStreamError, OSError, ValueError, subprocess.SubprocessError) as error:
        remedy = "until then there is no backup"
        yield Finding("backups", Level.WARNING, str(error), remedy)
        return
    for each in gaps:
        remedy = "keep a copy elsewhere: a restored deployment needs it"
        yield Finding("backups", Level.WARNING, f"{each} is in no backup", remedy)
    if not gaps:
        yield Finding("backups", Level.OK, "a backup has every file of the settings")


def _folders(settings: Settings) -> list[Path]:
    """The folders that the server writes to."""
    own = [settings.history.folder, settings.archive.folder]
    return [each.expanduser().absolute() for each in own]


def _nearest(folder: Path) -> Path:
    """The folder, or the nearest one above it that is there."""
    return next(each for each in (folder, *folder.parents) if each.exists())


@click.group("config")
def config() -> None:
    """Show the settings of a deployment, and where each comes from."""


@config.command("show")
@click.option(
    "--origin", is_flag=True, help="Say where each comes from: file and line, variable, default."
)
@config_option
@json_option
def show_config(origin: bool, config: Path, as_json: bool) -> None:
    """Print every setting with its value.

    Passwords are shown as ***. Paths are absolute, patterns of files are the files they match.
    """
    given = read_settings(config)[1]
    told = [{"name": each.name, "value": each.shown(), "origin": each.origin} for each in given]
    if not as_json:
        _show_settings(told, origin)
        return
    print_json({each.pop("name"): each if origin else each["value"] for each in told})


def _show_settings(found: list[dict[str, Any]], origin: bool = True) -> None:
    columns = ("setting", "value", "origin") if origin else ("setting", "value")
    rows = [[each["name"], cell(each["value"]), each["origin"]] for each in found]
    print_table(columns, [row[: len(columns)] for row in rows])


asks(
    config,
    "running",
    CommandClient.settings,
    """Print the settings that a running server has read, and where each comes from.

    The file may have been edited since it started.
    """,
    show=_show_settings,
)
