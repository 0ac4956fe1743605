"""Connections to brokers of MQTT or Kafka, for inputs and outputs alike."""

from __future__ import annotations

import ssl
from typing import Any

from sensorstream.errors import SettingsError
from sensorstream.settings.endpoints import KafkaConnection, MqttConnection

_PLAIN_MQTT, _SECURE_MQTT = 1883, 8883


def mqtt_arguments(label: str, name: str, options: MqttConnection) -> dict[str, Any]:
    """The arguments of ``aiomqtt.Client`` that come from the settings.

    Raises:
        SettingsError: a file of the settings cannot be used; ``label`` is where they stand.
    """
    import aiomqtt

    secure = _tls(label, options)
    protocols = {"3.1.1": aiomqtt.ProtocolVersion.V311, "5": aiomqtt.ProtocolVersion.V5}
    return {
        "hostname": options.host,
        "port": options.port or (_PLAIN_MQTT if secure is None else _SECURE_MQTT),
        "identifier": options.client_id or f"sensorstream-{name}",
        "username": options.user or None,
        "password": _password(label, options),
        "protocol": protocols[options.version],
        "keepalive": max(1, options.keepalive),
        "tls_context": secure,
    }


def kafka_arguments(label: str, name: str, options: KafkaConnection) -> dict[str, Any]:
    """The arguments of aiokafka's consumers and producers that come from the settings.

    Raises:
        SettingsError: a file of the settings cannot be used; ``label`` is where they stand.
    """
    secure = _tls(label, options)
    arguments: dict[str, Any] = {
        "bootstrap_servers": list(options.brokers),
        "client_id": f"sensorstream-{name}",
        "security_protocol": "PLAINTEXT" if secure is None else "SSL",
        "ssl_context": secure,
    }
    if options.user:
        arguments |= {
            "security_protocol": "SASL_PLAINTEXT" if secure is None else "SASL_SSL",
            "sasl_mechanism": options.mechanism,
            "sasl_plain_username": options.user,
            "sasl_plain_password": _password(label, options) or "",
        }
    return arguments


def _password(label: str, options: MqttConnection | KafkaConnection) -> str | None:
    if options.password_file is None:
        return options.password or None
    try:
        return options.password_file.read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{label}.password_file: cannot read it: {error}") from None


def _tls(label: str, options: MqttConnection | KafkaConnection) -> ssl.SSLContext | None:
    if not options.tls:
        for setting in ("ca_file", "cert_file", "key_file"):
            if getattr(options, setting) is not None:
                raise SettingsError(f"{label}.{setting}: allowed only together with tls = true")
        return None
    if options.key_file is not None and options.cert_file is None:
        raise SettingsError(f"{label}.key_file: allowed only together with cert_file")
    setting = "ca_file"
    try:
        context = ssl.create_default_context(cafile=options.ca_file)
        setting = "cert_file"
        if options.cert_file is not None:
            context.load_cert_chain(options.cert_file, options.key_file)
    except OSError as error:  # ssl.SSLError is one
        raise SettingsError(f"{label}.{setting}: cannot use it: {error}") from None
    return context
