"""The options of inputs and outputs, by type: a table of names, kinds, defaults and sentences.

:mod:`.settings` reads them from ``[inputs.options]`` and ``[outputs.options]``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

from sensorstream.model.frozen import field, frozen
from sensorstream.model.webhook_definition import ALERTMANAGER, CLOUD_EVENTS, FORMATS, Format


def setting(
    default: Any,
    sentence: str,
    choices: Sequence[str] = (),
    *,
    required: bool = False,
    secret: bool = False,
    least: int = 0,
    or_zero: bool = False,
) -> Any:
    """A setting: its default, what it is for, and the values it may have. A ``required`` one has to
    be given, its default is empty. No repr shows a ``secret`` one. ``least`` is the smallest whole
    number that it may be; ``or_zero``: a number above zero that may also be zero.
    """
    told = {
        "sentence": sentence,
        "choices": tuple(choices),
        "required": required,
        "least": least,
        "or_zero": or_zero,
    }
    return field(default=default, metadata=told, repr=not secret)


@frozen
class FolderInput:
    """An input of the type ``folder``: each file is a message."""

    path: Path | None = setting(None, "The folder that is watched.", required=True)
    pattern: str = setting("*.xml", "The names of the files that are messages.")
    subfolders: bool = setting(False, "Whether files in folders inside the folder count.")
    order: str = setting(
        "name", "Which file comes first: by its name, or by its time of change.", ["name", "time"]
    )
    settle: float = setting(2.0, "Seconds a file must be unchanged before it counts as complete.")
    poll: float = setting(1.0, "Seconds between two looks at the folder.")
    done: Path | None = setting(None, "Where files that were taken go; empty: 'done' inside.")
    failed: Path | None = setting(None, "Where files with a fault go; empty: 'failed' inside.")


@frozen
class TcpInput:
    """An input of the type ``tcp``: lines or frames from connections."""

    host: str = setting("127.0.0.1", "The address to listen on.")
    port: int = setting(0, "The port to listen on; 0 takes a free one.")
    framing: str = setting(
        "line",
        "What ends a message: a line feed, a zero byte, or four bytes before it with its length.",
        ["line", "nul", "length"],
    )
    answers: bool = setting(True, "Whether a line of JSON answers each message.")
    drop_repeats: bool = setting(
        False, "Whether a message with the same bytes as an earlier one is a repeat."
    )
    connections: int = setting(100, "The most connections at a time.")
    idle: float = setting(300.0, "Seconds without a byte after which a connection is closed.")


@frozen
class MqttConnection:
    """The settings that inputs and outputs of the type ``mqtt`` share."""

    host: str = setting("", "The broker's address.", required=True)
    port: int = setting(0, "The broker's port; 0: 1883, or 8883 with TLS.")
    version: str = setting("5", "The version of MQTT.", ["3.1.1", "5"])
    client_id: str = setting("", "The client's id; empty: sensorstream- and the name.")
    keepalive: int = setting(60, "Seconds of silence after which the connection is checked.")
    user: str = setting("", "The user's name; empty: none.")
    password: str = setting("", "The password; better in password_file.", secret=True)
    password_file: Path | None = setting(None, "A file that holds the password.")
    tls: bool = setting(False, "Whether the connection is encrypted (TLS).")
    ca_file: Path | None = setting(None, "Certificates to trust, PEM; empty: the system's.")
    cert_file: Path | None = setting(None, "The client's own certificate, PEM.")
    key_file: Path | None = setting(None, "The key of cert_file, PEM; empty: it is in cert_file.")


@frozen
class MqttInput(MqttConnection):
    """An input of the type ``mqtt``: subscribes with QoS 1, in a session that the broker keeps."""

    topics: tuple[str, ...] = setting((), "Topics, with + and # as wildcards.", required=True)
    topic_is_source: bool = setting(
        False, "Whether a message's source is its topic instead of the input's source."
    )
    expiry: int = setting(
        604_800, "Seconds the broker keeps messages while no one is connected (MQTT 5)."
    )


@frozen
class MqttOutput(MqttConnection):
    """An output of the type ``mqtt``: publishes with QoS 1."""

    topic: str = setting("", "The topic to publish to.", required=True)


@frozen
class KafkaConnection:
    """The settings that inputs and outputs of the type ``kafka`` share."""

    brokers: tuple[str, ...] = setting((), "Brokers to start from, HOST:PORT.", required=True)
    user: str = setting("", "The user's name (SASL); empty: none.")
    password: str = setting("", "The password; better in password_file.", secret=True)
    password_file: Path | None = setting(None, "A file that holds the password.")
    mechanism: str = setting(
        "PLAIN",
        "How the user proves to be it (SASL).",
        ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"],
    )
    tls: bool = setting(False, "Whether the connection is encrypted (TLS).")
    ca_file: Path | None = setting(None, "Certificates to trust, PEM; empty: the system's.")
    cert_file: Path | None = setting(None, "The client's own certificate, PEM.")
    key_file: Path | None = setting(None, "The key of cert_file, PEM; empty: it is in cert_file.")


@frozen
class KafkaInput(KafkaConnection):
    """An input of the type ``kafka``: a member of a consumer group."""

    topics: tuple[str, ...] = setting((), "The topics to read.", required=True)
    group: str = setting("", "The consumer group; empty: sensorstream- and the name.")
    start: str = setting("earliest", "Where a group that is new begins.", ["earliest", "latest"])
    topic_is_source: bool = setting(
        False, "Whether a message's source is its topic instead of the input's source."
    )
    copy: bool = setting(
        True,
        "Whether the journal gets the messages. If not, it gets their offsets, and the pipeline on "
        'Spark reads the topic itself; only with pipeline.runner = "spark".',
    )


_MOST_KEPT: Final = 16 * 1024 * 1024


def most_kept(limit: int) -> int:
    """The bytes of a message of an input that are kept, if messages of more than ``limit`` bytes
    are not processed. Brokers let through 256 MB and more, which PostgreSQL does not store: it
    would be tried for ever.
    """
    return max(limit + 1, _MOST_KEPT)


@frozen
class KafkaOutput(KafkaConnection):
    """An output of the type ``kafka``: all replicas in sync have a record before it counts."""

    topic: str = setting("", "The topic to write to.", required=True)


InputOptions: TypeAlias = FolderInput | TcpInput | MqttInput | KafkaInput
OutputOptions: TypeAlias = MqttOutput | KafkaOutput

INPUT_TYPES: Final[Mapping[str, type[Any]]] = {
    "folder": FolderInput,
    "mqtt": MqttInput,
    "kafka": KafkaInput,
    "tcp": TcpInput,
}
OUTPUT_TYPES: Final[Mapping[str, type[Any]]] = {"mqtt": MqttOutput, "kafka": KafkaOutput}


@frozen
class InputSettings:
    """``[[inputs]]``: a way for messages to come in, besides HTTP."""

    name: str = setting("", "The input's name: small letters, digits, - and _.", required=True)
    type: str = setting("", "How messages come in.", tuple(INPUT_TYPES), required=True)
    source: str = setting("", "The source of its messages; empty: the input's name.")


@frozen
class OutputSettings:
    """``[[outputs]]``: a receiver of alerts and reports, besides webhooks."""

    name: str = setting("", "The output's name: small letters, digits, - and _.", required=True)
    type: str = setting("", "Where events go.", tuple(OUTPUT_TYPES), required=True)
    queries: tuple[str, ...] = setting((), "Continuous queries whose reports are sent too.")
    changes: bool = setting(False, "Whether what becomes of open alerts is sent too.")
    format: str = setting(
        CLOUD_EVENTS,
        "The format of the reports in the events; cloudevents is JSON.",
        [each for each in FORMATS if each != ALERTMANAGER],
    )


@frozen
class Input:
    """An entry of ``[[inputs]]`` with the options of its type; ``source`` is never empty."""

    name: str
    source: str
    options: InputOptions


@frozen
class OutputSetting:
    """An entry of ``[[outputs]]`` with the options of its type."""

    name: str
    queries: tuple[str, ...]
    options: OutputOptions
    changes: bool = False
    format: Format = CLOUD_EVENTS
