"""The messages between an owner and a process that answers questions.

The owner sends :class:`Tell`, :class:`AskQuestion` and :class:`End`. For each question the process
sends :class:`QuestionBegun`, then pieces of the answer, or news of it, then :class:`AnswerOver` or
:class:`Failed`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sensorstream.errors import SensorStreamError


@dataclass(frozen=True, slots=True)
class Tell:
    """A message that counts for all questions that are asked later."""

    message: Any


@dataclass(frozen=True, slots=True)
class AskQuestion:
    """A question, answered from all that was told before; ``number`` tells questions apart."""

    number: int
    question: Any


@dataclass(frozen=True, slots=True)
class End:
    """The request to end a question, if it is still being answered."""

    number: int


@dataclass(frozen=True, slots=True)
class QuestionBegun:
    """The news that the question is being answered."""


@dataclass(frozen=True, slots=True)
class AnswerOver:
    """The end of an answer, all of which has been sent; ``result`` is the rest of it."""

    result: Any


@dataclass(frozen=True, slots=True)
class Failed:
    """The question cannot be answered; ``broken``: nor can others, and the process ends."""

    error: SensorStreamError
    broken: bool = False
