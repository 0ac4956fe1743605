from __future__ import annotations

import pytest

from sensorstream.console.page_addresses import text_of

TEXT = "<?xml version='1.0' encoding='{}'?><a>Größe</a>"


@pytest.mark.parametrize("encoding", ["utf-8", "iso-8859-1", "utf-16", "windows-1252"])
def test_a_message_is_read_in_the_encoding_that_it_declares(encoding: str) -> None:
    written = TEXT.format(encoding)
    assert text_of(written.encode(encoding)) == written


def test_what_cannot_be_read_is_shown_as_far_as_it_can() -> None:
    assert text_of(b"<a>\xff</a>") == "<a>\ufffd</a>"
    assert text_of(b"<?xml version='1.0' encoding='none'?><a/>").endswith("<a/>")
    assert text_of(b"\xef\xbb\xbf<a/>") == "<a/>"
