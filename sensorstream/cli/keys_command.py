"""``sensorstream keys``: the API keys of a deployment."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from sensorstream.access.roles import Role
from sensorstream.cli.command_kinds import served
from sensorstream.cli.options import config_option
from sensorstream.cli.terminal import cell, print_table
from sensorstream.clock import SystemClock
from sensorstream.errors import TermError, UnknownKey
from sensorstream.model.frozen import frozen
from sensorstream.settings.settings_file import load_settings

if TYPE_CHECKING:
    from sensorstream.access.api_keys import Key
    from sensorstream.history.access_store import PostgresAuditLog, PostgresKeys

_COLUMNS: Final = ("prefix", "name", "roles", "sources", "state", "created", "expires", "last used")


@frozen
class _Store:
    keys: PostgresKeys
    log: PostgresAuditLog
    now: datetime

    def note(self, doing: str, name: str) -> None:
        """Write into the audit log what a command did."""
        import getpass

        from sensorstream.access.audit import AuditedChange

        try:
            user = getpass.getuser()
        except (OSError, KeyError):  # a user without a name, as in some containers
            user = "unknown"
        self.log.add(
            AuditedChange(self.now, "command", user, "", "command", f"keys {doing} {name}", 0)
        )


@contextmanager
def _store(config: Path, _url: None) -> Iterator[_Store]:
    from sensorstream.history.access_store import PostgresAuditLog, PostgresKeys
    from sensorstream.history.database import engine
    from sensorstream.history.open_history import open_prepared

    settings = load_settings(config)
    with ExitStack() as stack:
        database = engine(open_prepared(settings.history, settings.time.timeline, stack))
        stack.callback(database.dispose)
        yield _Store(PostgresKeys(database), PostgresAuditLog(database), SystemClock().now())
    if not settings.http.keys:
        click.echo(
            "the server does not ask for keys: set http.keys = true in its settings", err=True
        )


_keys: Final = partial(served, about=(config_option, _store))


def _name(_context: click.Context, option: click.Parameter, name: str) -> str:
    if not name.strip() or not name.isprintable() or len(name) > 100:
        raise click.BadParameter("expected 1 to 100 printable characters", param_hint="--name")
    return name


def _length(_context: click.Context, option: click.Parameter, text: str) -> timedelta | None:
    """A length of time; that of an overlap may be none, and a key may be valid for ever."""
    from sensorstream.model.xsd import parse_duration

    is_life = option.name == "expires"
    if is_life and text == "never":
        return None
    try:
        length = parse_duration(text)
    except (TermError, OverflowError):
        length = None
    if length is None or length < timedelta(seconds=is_life):
        raise click.BadParameter(
            f"'{text}' is not a length of time: expected e.g. P90D or PT1H",
            param_hint=f"--{option.name}",
        )
    return length


@click.group("keys")
def command() -> None:
    """Make, list, revoke and replace the API keys of a deployment.

    These commands work on the deployment's database, with and without its running server, which
    heeds them within two seconds.
    """


def _show(made: dict[str, Any]) -> None:
    end = "never"
    if made["expires_at"] is not None:
        end = f"{datetime.fromisoformat(made['expires_at']):%Y-%m-%d %H:%M} UTC"
    told = f"made {made['prefix']}… for {made['name']}, which expires {end}; shown only now:"
    click.echo(told, err=True)
    click.echo(made["key"])


@_keys(command.command("create"), _show)
@click.option("--name", required=True, callback=_name, help="Who or what the key is for.")
@click.option(
    "--role",
    "roles",
    type=click.Choice([each.value for each in Role]),
    multiple=True,
    required=True,
    help="May be given several times; admin includes operator, operator includes query.",
)
@click.option(
    "--source",
    "sources",
    multiple=True,
    metavar="NAME",
    help="The only source its messages may name; may be given several times.",
)
@click.option(
    "--expires",
    default="P365D",
    show_default=True,
    callback=_length,
    metavar="D",
    help="After this length of time it is not valid any more (P90D); or never.",
)
def create(
    store: _Store,
    name: str,
    roles: tuple[str, ...],
    sources: tuple[str, ...],
    expires: timedelta | None,
) -> dict[str, Any]:
    """Make a key. It is shown only once."""
    from sensorstream.access.api_keys import Key, digest_of, new_secret, prefix_of

    if sources and Role.INGEST.value not in roles:
        raise click.BadParameter("only --role ingest sends messages", param_hint="--source")
    if any(each.name == name and each.state(store.now) == "active" for each in store.keys.all()):
        raise click.BadParameter(
            f"there is a key '{name}': revoke it first, or use 'keys rotate'",
            param_hint="--name",
        )
    secret = new_secret()
    key = Key(
        prefix_of(secret),
        name,
        digest_of(secret),
        tuple(dict.fromkeys(map(Role, roles))),
        tuple(dict.fromkeys(sources)) or None,
        store.now,
        None if expires is None else _after(store.now, expires, "--expires"),
    )
    store.keys.add(key)
    store.note("create", name)
    return {**_facts(key, store.now), "key": secret}


@_keys(
    command.command("list"),
    lambda found: print_table(_COLUMNS, [list(map(cell, each.values())) for each in found]),
)
def list_(store: _Store) -> list[dict[str, Any]]:
    """All keys, oldest first; of each only its beginning."""
    return [_facts(each, store.now) for each in store.keys.all()]


@_keys(command.command("revoke"))
@click.argument("named", metavar="NAME|PREFIX")
def revoke(store: _Store, named: str) -> None:
    """End the keys with a name, or the one that begins with PREFIX, now."""
    ended = store.keys.revoke(named, store.now)
    if not ended:
        raise UnknownKey(f"no key that is not revoked has the name or beginning '{named}'")
    store.note("revoke", named)
    click.echo(f"revoked {', '.join(ended)}")


@_keys(command.command("rotate"), _show)
@click.argument("name", metavar="NAME")
@click.option(
    "--overlap",
    default="PT1H",
    show_default=True,
    callback=_length,
    metavar="D",
    help="How long the present key stays valid beside the new one; PT0S ends it now.",
)
def rotate(store: _Store, name: str, overlap: timedelta) -> dict[str, Any]:
    """Make a new key with the name, roles, sources and length of life of the present one."""
    from dataclasses import replace

    from sensorstream.access.api_keys import digest_of, new_secret, prefix_of

    present = [
        each
        for each in store.keys.all()
        if each.name == name and each.state(store.now) != "revoked"
    ]
    if not present:
        raise UnknownKey(f"no key that is not revoked has the name '{name}'")
    old, secret = present[-1], new_secret()
    life = None if old.expires_at is None else old.expires_at - old.created_at
    new = replace(
        old,
        prefix=prefix_of(secret),
        digest=digest_of(secret),
        created_at=store.now,
        expires_at=None if life is None else store.now + life,
        used_at=None,
    )
    store.keys.add(new, replaced_from=_after(store.now, overlap, "--overlap"))
    store.note("rotate", name)
    return {**_facts(new, store.now), "key": secret}


def _after(now: datetime, length: timedelta, option: str) -> datetime:
    try:
        return now + length
    except OverflowError:
        raise click.BadParameter(
            "is too far away: expected fewer days", param_hint=option
        ) from None


def _facts(key: Key, now: datetime) -> dict[str, Any]:
    return {
        "prefix": key.prefix,
        "name": key.name,
        "roles": [each.value for each in key.roles],
        "sources": None if key.sources is None else list(key.sources),
        "state": key.state(now),
        "created_at": key.created_at.isoformat(),
        "expires_at": key.expires_at and key.expires_at.isoformat(),
        "used_at": key.used_at and key.used_at.isoformat(),
    }
