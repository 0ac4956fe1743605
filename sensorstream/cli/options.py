"""Options that several commands share, and the address and the key that they give."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from sensorstream.errors import SettingsError, TermError
from sensorstream.model.timeline import Instant, Timeline
from sensorstream.settings.settings import Settings
from sensorstream.settings.settings_file import load_settings

Command = TypeVar("Command", bound=Callable[..., Any])

SETTINGS_FILE: Final = "sensorstream.toml"
_KEY_FILE: Final = "sensorstream.key-file"
FILE: Final = click.Path(path_type=Path, dir_okay=False, exists=True)
"""The type of an argument that names a file to read."""
PARAMETERS: Final = "__click_params__"
"""The attribute in which click keeps the options of a function that is no command yet."""
FOLDER: Final = click.Path(path_type=Path, file_okay=False)
MOMENTS: Final = click.DateTime(("%Y-%m-%d", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%S%z"))

config_option: Final = click.option(
    "-c",
    "--config",
    type=click.Path(path_type=Path, dir_okay=False),
    default=SETTINGS_FILE,
    show_default=True,
    metavar="FILE",
    help="The settings file of the deployment.",
)
"""``-c FILE``, given to the command as ``config``; by default the folder's own settings."""
json_option: Final = click.option(
    "--json", "as_json", is_flag=True, help="Print JSON, for machines."
)
"""``--json``, given to the command as ``as_json``."""
count_option: Final = click.option(
    "--count", type=click.IntRange(min=1), metavar="N", help="End after this many."
)
"""``--count N``, given to the command as ``count``; None: no end."""
KEY: Final = "On Spark: the key whose engine answers; else all do, or the only one."
key_option: Final = click.option("--key", metavar="KEY", help=KEY)
"""``--key KEY``, given to the command as ``key``; None: no key is named."""

source_option: Final = click.option(
    "--source",
    default="rest",
    show_default=True,
    help="The source of the messages, which selects the schema and the stylesheets.",
)


def all_of(*options: Callable[[Any], Any]) -> Callable[[Command], Command]:
    """Join several options to one, shown in this order."""

    def added(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return added


def as_one(
    name: str, make: Callable[..., Any], *options: Callable[[Any], Any]
) -> Callable[[Command], Command]:
    """Join several options to one argument ``name`` of the command, made by ``make``."""

    def added(command: Command) -> Command:
        @wraps(command)
        def gathered(*given: Any, **named: Any) -> Any:
            own = {each: named.pop(each) for each in names}
            return command(*given, **{name: make(**own)}, **named)

        before = len(vars(gathered).get(PARAMETERS, ()))
        with_them = all_of(*options)(gathered)
        names = [each.name for each in vars(with_them)[PARAMETERS][before:]]
        return with_them  # type: ignore[return-value]

    return added


def _keep_key_file(context: click.Context, _option: click.Parameter, given: Path | None) -> None:
    if given is not None:
        context.meta[_KEY_FILE] = given


server_options: Final = all_of(
    config_option,
    click.option(
        "--url",
        metavar="URL",
        help="The server's address; by default that of the server of the settings file.",
    ),
    click.option(
        "--key-file",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help="A file with the key to show; by default the variable SENSORSTREAM_KEY has the key.",
        expose_value=False,
        callback=_keep_key_file,
    ),
)
"""``--url URL`` or ``-c FILE``: the server to use (see :func:`server_url`); ``--key-file``."""


def shown_key() -> str:
    """The key to show to a server: that of ``--key-file``, else of ``SENSORSTREAM_KEY``.

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


def is_given(name: str) -> bool:
    """Whether the command line itself has an option of the command that runs."""
    source = click.get_current_context().get_parameter_source(name)
    return source is click.core.ParameterSource.COMMANDLINE


def span_options(start: str | None, end: str | None, line: Timeline) -> list[Instant | None]:
    """The values of ``--from`` and ``--to``, of which the second is later; None: not given."""
    found: list[Instant | None] = []
    for name, text in (("--from", start), ("--to", end)):
        try:
            found.append(None if text is None else line.instant(text))
        except TermError as error:
            raise click.BadParameter(error.message, param_hint=name) from None
    first, last = found
    if first is not None and last is not None and last <= first:
        raise click.BadParameter(f"'{end}' is not after '{start}'", param_hint="--to")
    return found


def server_url(url: str | None, config: Path) -> str:
    """The server's address by ``--url``, else by the settings; SettingsError if unreadable."""
    return url.rstrip("/") if url else address(load_settings(config))


def address(settings: Settings) -> str:
    """The address at which the server of these settings listens, or would."""
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
