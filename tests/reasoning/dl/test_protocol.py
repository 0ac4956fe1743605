from sensorstream.reasoning.dl.protocol import Answer, AskTypes
from sensorstream.reasoning.dl.worker import Served


def test_a_question_before_the_axioms_is_answered_with_an_error() -> None:
    answer = Served().answer(AskTypes([]))
    assert isinstance(answer, Answer)
    assert answer.error
