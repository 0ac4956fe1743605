"""Options that several commands share."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import wraps
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from sensorstream.errors import SettingsError, TermError
from sensorstream.model.timeline import Instant, Timeline
from sensorstream.settings import Settings
from sensorstream.settings_file import load_settings

Command = TypeVar("Command", bound=Callable[..., Any])

SETTINGS_FILE: Final = "sensorstream.toml"
_KEY_FILE: Final = "sensorstream.key-file"
_PARAMETERS: Final = "__click_params__"
"""Where click keeps the options of a function that is no command yet."""


def config_option(command: Command) -> Command:
    """``-c FILE``, given to the command as ``config``; by default the folder's own settings."""
    return click.option(
        "-c",
        "--config",
        type=click.Path(path_type=Path, dir_okay=False),
        default=SETTINGS_FILE,
        show_default=True,
        metavar="FILE",
        help="The settings file of the deployment.",
    )(command)


def server_options(command: Command) -> Command:
    """``--url URL`` or ``-c FILE``: the server to use (see :func:`server_url`); ``--key-file``."""
    named = click.option(
        "--url",
        metavar="URL",
        help="The server's address; by default that of the server of the settings file.",
    )
    shown = click.option(
        "--key-file",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help="A file with the key to show; by default the variable SENSORSTREAM_KEY has the key.",
        expose_value=False,
        callback=_keep_key_file,
    )
    return config_option(named(shown(command)))


def _keep_key_file(context: click.Context, _option: click.Parameter, given: Path | None) -> None:
    if given is not None:
        context.meta[_KEY_FILE] = given


def shown_key() -> str:
    """The key that a command shows to a server: of ``--key-file``, else of ``SENSORSTREAM_KEY``.

    Raises:
        OSError: the file cannot be read.
        SettingsError: it holds no key.
    """
    context = click.get_current_context(silent=True)
    file = None if context is None else context.meta.get(_KEY_FILE)
    if file is None:
        return os.environ.get("SENSORSTREAM_KEY", "").strip()
    key: str = file.read_text("utf-8", errors="replace").strip()
    if not key:
        raise SettingsError(f"{file} is empty: expected a key, ssk_…")
    return key


def served(
    make: Callable[[Callable[..., None]], click.Command],
    show: Callable[[Any], None] | None = None,
    *,
    json: bool = False,
    last: Callable[[Callable[..., Any]], Callable[..., Any]] | None = None,
) -> Callable[[Callable[..., Any]], click.Command]:
    """Make a command of a function that gets a :class:`.Client` of the server first.

    It has :func:`server_options`; with ``show``, what the function gives is printed by that, or as
    JSON (``--json``); with ``json``, it gets ``as_json`` itself. Of its options its own come first,
    those that ``last`` adds last.
    """

    def decorated(command: Callable[..., Any]) -> click.Command:
        own = vars(command).pop(_PARAMETERS, [])

        @wraps(command)
        def ask(url: str | None, config: Path, **given: Any) -> None:
            from sensorstream.cli.client import Client
            from sensorstream.cli.terminal import print_json

            as_json = show is not None and given.pop("as_json")
            with Client(server_url(url, config)) as client:
                found = run(client, **given)
            if show is not None:
                (print_json if as_json else show)(found)

        run = command if last is None else last(command)
        vars(ask)[_PARAMETERS] = vars(run).pop(_PARAMETERS, [])
        server_options(ask if show is None and not json else json_option(ask))
        vars(ask)[_PARAMETERS] += own
        return make(ask)

    return decorated


def rows_of(*columns: str) -> Callable[[Sequence[Mapping[str, Any]]], None]:
    """Print objects as a table of these of their fields; for :func:`prints`."""

    def show(found: Sequence[Mapping[str, Any]]) -> None:
        from sensorstream.cli.terminal import print_table

        print_table(columns, [[each[name] for name in columns] for each in found])

    return show


def json_option(command: Command) -> Command:
    """``--json``, given to the command as ``as_json``."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON, for machines.")(
        command
    )


def instant_option(name: str, text: str | None, line: Timeline) -> Instant | None:
    """The value of an option that is a time of the time line; None if it is not given."""
    if text is None:
        return None
    try:
        return line.instant(text)
    except TermError as error:
        raise click.BadParameter(error.message, param_hint=name) from None


def server_url(url: str | None, config: Path) -> str:
    """The address of the server given by ``--url`` or, without it, by the settings.

    Raises:
        SettingsError: there is no ``--url`` and the settings file cannot be read.
    """
    return url.rstrip("/") if url else address(load_settings(config))


def address(settings: Settings) -> str:
    """Where the server of these settings listens, or would."""
    if told := told_address(settings):
        return told
    secure = settings.http.certificate is not None
    return base_url(settings.server.host, settings.server.port, secure=secure)


def base_url(host: str, port: int, *, secure: bool = False) -> str:
    """``http://host:port``, with the brackets an IPv6 address needs; ``secure``: ``https``."""
    place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    return f"{'https' if secure else 'http'}://{place}"


_FILE: Final = "address"


@contextmanager
def telling(settings: Settings, url: str) -> Iterator[None]:
    """Tell the address while the block lasts, unless another server of the deployment does."""
    settings.history.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    file = os.open(settings.history.folder / _FILE, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        with suppress(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(file, 0)
            os.pwrite(file, url.encode(), 0)
        yield
    finally:
        os.close(file)


def told_address(settings: Settings) -> str:
    """The address of the server of a deployment; empty if none runs here."""
    try:
        with (settings.history.folder / _FILE).open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return file.read().decode()
    except OSError:
        pass
    return ""
