"""Which engine an entry belongs to."""

from __future__ import annotations

import pytest

from sensorstream.errors import SettingsError
from sensorstream.journal.key_routing import CONTROL, key_reader
from tests.streaming.conftest import seen

MESSAGE = seen("north", 5, (1, 2))


def test_by_source_the_source_is_the_key() -> None:
    key_of = key_reader("source", {}, 64)
    assert key_of("message", "cam", MESSAGE) == "=cam"
    assert key_of("message", "", b"<") == "="


@pytest.mark.parametrize(
    ("path", "key"),
    [
        ("string(/seen/@by)", "=north"),
        ("/seen/@by", "=north"),
        ("/seen/@at", "=5"),
        ("count(/seen/person)", "=1"),
        ("/seen/@by = 'north'", "=True"),
        ("/seen/nobody", "="),
    ],
)
def test_by_xpath_the_first_result_is_the_key(path: str, key: str) -> None:
    assert key_reader(path, {}, 64)("message", "cam", MESSAGE) == key


def test_an_xpath_may_use_the_prefixes_it_is_given() -> None:
    key_of = key_reader("/a:seen", {"a": "http://a/"}, 64)
    assert key_of("message", "", b"<seen xmlns='http://a/'> x </seen>") == "=x"


def test_a_message_that_cannot_be_read_has_the_empty_key() -> None:
    assert key_reader("/seen/@by", {}, 64)("message", "cam", b"<seen") == "="
    assert key_reader("/seen/@by", {}, 1)("message", "cam", MESSAGE) == "="


@pytest.mark.parametrize("text", ["source", "/seen/@by"])
def test_what_is_no_message_goes_to_an_engine_of_its_own(text: str) -> None:
    assert key_reader(text, {}, 64)("query", "cam", b"") == CONTROL


@pytest.mark.parametrize("text", ["", "/seen[", "Source'"])
def test_another_text_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match="expected source or an XPath"):
        key_reader(text, {}, 64)


def test_a_prefix_that_is_not_there_is_a_clear_error() -> None:
    key_of = key_reader("/b:seen", {"a": "http://a/"}, 64)
    assert key_of("message", "", MESSAGE) == "="
