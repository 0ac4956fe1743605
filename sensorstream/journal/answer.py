"""The history has answered the question of a rule, or could not."""

from __future__ import annotations

import json
from collections.abc import Container, Iterable
from dataclasses import dataclass
from typing import ClassVar, Self

from sensorstream.engine.outcome import Outcome
from sensorstream.journal.entry import Entry, Target, number_stays
from sensorstream.journal.records import Record
from sensorstream.model.terms import term
from sensorstream.rules.memory import Answer, SolutionKey


@dataclass(frozen=True, slots=True)
class AnswerRule(Entry):
    """An answer of the history: a replay takes it from here, and asks nobody."""

    kind: ClassVar[str] = "answer"

    answer: Answer

    def encode(self) -> tuple[bytes, str]:
        asked = self.answer
        told: dict[str, object] = {"digest": asked.digest, "moment": _texts(asked.moment)}
        if self.answer.failure:
            told["failure"] = self.answer.failure
        else:
            told["solutions"] = [_texts(each) for each in self.answer.solutions]
        return json.dumps(told, ensure_ascii=False).encode(), self.answer.rule

    @classmethod
    def decode(cls, content: bytes, source: str) -> Self:
        told = json.loads(content)
        solutions = tuple(_terms(each.items()) for each in told.get("solutions", ()))
        failure = told.get("failure", "")
        moment = _terms(told["moment"].items())
        return cls(Answer(source, told["digest"], moment, solutions, failure))

    def apply(self, target: Target, record: Record, refused: Container[str]) -> Outcome:
        number_stays(target, record)
        return target.engine.answer(record.message, self.answer)


def _texts(solution: SolutionKey) -> dict[str, str]:
    return {name: value.n3 for name, value in solution}


def _terms(texts: Iterable[tuple[str, str]]) -> SolutionKey:
    return tuple((name, term(text)) for name, text in texts)
