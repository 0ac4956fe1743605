"""``GET /settings``: the settings that the server has read, and where each comes from."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import APIRouter
from pydantic import BaseModel, Field

from sensorstream.client.operations import Operations
from sensorstream.server.known import routed
from sensorstream.settings_file import Given


class SettingBody(BaseModel):
    """A setting: `section.name`, its value, and where that comes from."""

    name: str = Field(examples=["window.size"])
    value: bool | int | float | str | list[str] | None = Field(
        description="files are absolute paths; passwords are shown as ***"
    )
    origin: str = Field(description="`FILE:LINE`, a variable of the environment, or `default`")


class SettingsBody(BaseModel):
    """All settings, section by section."""

    settings: list[SettingBody]


def router(given: Sequence[Given]) -> APIRouter:
    """The settings as they were read."""
    routes = APIRouter(tags=["operation"])
    told = SettingsBody(
        settings=[
            SettingBody(name=each.name, value=each.shown(), origin=each.origin) for each in given
        ]
    )

    @routed(routes, Operations.settings, summary="List the settings")
    def settings() -> SettingsBody:
        """All settings that the server has read when it started, and where each comes from.

        None, where a program has made them without a file.
        """
        return told

    return routes
