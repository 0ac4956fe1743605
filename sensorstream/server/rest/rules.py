"""``GET /rules``: the rules in force."""

from __future__ import annotations

from dataclasses import asdict
from typing import Literal

from fastapi import APIRouter
from pydantic import BaseModel, Field

from sensorstream.app.application import Application
from sensorstream.server.problems import PositionBody


class RuleBody(BaseModel):
    """A rule; ``position`` is where its file says it, if that is kept."""

    kind: Literal["mapping", "semantic"]
    name: str = Field(examples=["face-tracker"])
    position: PositionBody | None = None


class RulesBody(BaseModel):
    """All rules, mapping rules first, in the order of their files."""

    rules: list[RuleBody]


def router(application: Application) -> APIRouter:
    """The rules resource."""
    routes = APIRouter(tags=["rules"])

    @routes.get("/rules", summary="List the rules in force")
    def list_rules() -> RulesBody:
        """The mapping rules and the semantic rules that run."""
        found = [RuleBody.model_validate(asdict(each)) for each in application.rules()]
        return RulesBody(rules=found)

    return routes
