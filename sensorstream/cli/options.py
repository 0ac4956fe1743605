"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from sensorstream.errors import TermError
from sensorstream.model.timeline import Instant, Timeline
from sensorstream.settings import Settings, load_settings

Command = TypeVar("Command", bound=Callable[..., Any])

SETTINGS_FILE: Final = "sensorstream.toml"


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
    """``--url URL`` or ``-c FILE``: the server to use (see :func:`server_url`)."""
    named = click.option(
        "--url", metavar="URL", help="The server's address; by default that of the settings file."
    )
    return config_option(named(command))


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
    """Where a server with these settings listens."""
    return base_url(settings.server.host, settings.server.port)


def base_url(host: str, port: int) -> str:
    """``http://host:port``, with the brackets an IPv6 address needs."""
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
