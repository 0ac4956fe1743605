"""How a question is answered: its algebra, its SQL, and the plan of the engine for that."""

from __future__ import annotations

from dataclasses import dataclass

from sensorstream.sparql.algebra import Query
from sensorstream.sparql.printing import algebra_lines


@dataclass(frozen=True, slots=True)
class QuestionPlan:
    """``sql`` is empty where no SQL is run; ``plan`` is as the engine tells it, in lines."""

    algebra: str
    sql: str
    plan: str


def question_plan(query: Query, sql: str, plan: str) -> QuestionPlan:
    """The plan of a query."""
    return QuestionPlan("\n".join(algebra_lines(query.form.pattern)), sql, plan)
