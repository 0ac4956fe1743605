"""The operations of the API, each written once in one of three groups."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sensorstream.client.alert_operations import Alerts
from sensorstream.client.deployment_operations import DeploymentCalls
from sensorstream.client.operation import Operation
from sensorstream.client.question_operations import QuestionCalls


class Operations(QuestionCalls, Alerts, DeploymentCalls):
    """The operations that are one request with one answer."""


def operations() -> Iterator[Operation[..., Any]]:
    """The operations with a fixed path; that of resources with versions depends on the kind."""
    for group in (QuestionCalls, Alerts, DeploymentCalls):
        for each in vars(group).values():
            if isinstance(each, Operation) and "{kind}" not in each.path:
                yield each
