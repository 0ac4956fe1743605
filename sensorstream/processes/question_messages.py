"""What an owner and a process that answers questions say to each other.

The owner sends :class:`Tell`, :class:`AskQuestion` and :class:`End`. For each question there come
back :class:`QuestionBegun`, then pieces of the answer, or news of it, then :class:`AnswerOver` or
:class:`Failed`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sensorstream.errors import SensorStreamError


@dataclass(frozen=True, slots=True)
class Tell:
    """What counts for all questions that are asked later."""

    message: Any


@dataclass(frozen=True, slots=True)
class AskQuestion:
    """Answer a question from what was told by now; ``number`` tells questions apart."""

    number: int
    question: Any


@dataclass(frozen=True, slots=True)
class End:
    """End a question, if it is still being answered."""

    number: int


@dataclass(frozen=True, slots=True)
class QuestionBegun:
    """The question is being answered."""


@dataclass(frozen=True, slots=True)
class AnswerOver:
    """All of the answer has been sent; ``result`` is what remains to be said of it."""

    result: Any


@dataclass(frozen=True, slots=True)
class Failed:
    """The question cannot be answered; ``broken``: nor can others, and the process ends."""

    error: SensorStreamError
    broken: bool = False
