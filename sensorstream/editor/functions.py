"""The value functions that rules may call, as an editor shows them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sensorstream.mapping.functions.registry import usages
from sensorstream.settings import Settings


@dataclass(frozen=True, slots=True)
class FunctionInfo:
    """A function: how it is called, and what it gives."""

    usage: str
    meaning: str = ""


def functions_of(settings: Settings) -> Mapping[str, FunctionInfo]:
    """The functions that the rules of a deployment may call, by name."""
    return {name: FunctionInfo(usage) for name, usage in usages().items()}
