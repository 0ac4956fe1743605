import io

import pytest

from sensorstream.reasoning.dl.protocol import (
    HEADER,
    Answer,
    AskTypes,
    IslandFacts,
    LoadAxioms,
    decode,
    encode,
    read,
)
from sensorstream.reasoning.dl.worker import serve

FACTS = IslandFacts(
    ["urn:x:ä", None],
    [(0, "urn:x:A")],
    [(0, "urn:x:p", 1)],
    [(1, "urn:x:d", 'a "b"\n', "urn:x:t", None), (1, "urn:x:d", "b", "urn:x:t", "en")],
    [(0, 1)],
    [(1, 0)],
)


@pytest.mark.parametrize(
    "message",
    [
        LoadAxioms("hermit", "<urn:x:ä> …"),
        AskTypes([FACTS, FACTS]),
        AskTypes([]),
        Answer([[["urn:x:A"], []], None]),
        Answer([], "went wrong"),
    ],
)
def test_what_is_read_is_what_was_written(message: LoadAxioms | AskTypes | Answer) -> None:
    # JSON has no tuples: an AskTypes is equal when what it encodes to is.
    again = read(io.BytesIO(encode(message)).read)
    assert again is not None
    assert encode(again) == encode(message)


def test_the_end_of_the_stream_is_no_message() -> None:
    assert read(io.BytesIO().read) is None


def test_a_foreign_message_is_refused() -> None:
    with pytest.raises(ValueError, match="not a message of the protocol"):
        decode(b'["shutdown"]')


def test_a_question_before_the_axioms_is_answered_with_an_error() -> None:
    answers = io.BytesIO()
    serve(io.BytesIO(encode(AskTypes([]))).read, answers.write)
    body = answers.getvalue()[HEADER.size :]
    answer = decode(body)
    assert isinstance(answer, Answer)
    assert answer.error
