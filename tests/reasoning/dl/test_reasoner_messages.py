from functools import partial

from sensorstream.reasoning.dl.reasoner_worker import Served, answered


def test_a_question_before_the_axioms_is_answered_with_an_error() -> None:
    fault, _ = answered(Served(), partial(Served.types, islands=[]))
    assert fault
