"""The log: its two forms, what a line concerns, and what it never shows."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sensorstream import logs

Written = Callable[[], str]


@pytest.fixture
def written(capsys: pytest.CaptureFixture[str]) -> Iterator[Written]:
    """What has gone to stderr; the log is afterwards as it was."""
    root = logging.getLogger()
    named = [logging.getLogger(name) for name in ("sensorstream", "uvicorn", "uvicorn.access")]
    before = root.handlers[:], root.level, [(each.level, each.filters[:]) for each in named]
    root.handlers[:] = []
    yield lambda: capsys.readouterr().err
    root.handlers[:], root.level = before[0], before[1]
    for each, (level, filters) in zip(named, before[2], strict=True):
        each.setLevel(level)
        each.filters[:] = filters
    logging.captureWarnings(False)


def test_a_line_of_json_names_what_it_concerns(written: Written) -> None:
    logs.set_up("json", "info")
    log = logging.getLogger("sensorstream.app")
    with logs.concerning(request_id="r1"), logs.concerning(message_id="m7"):
        log.info("taken %d", 1)
    log.info("later")
    first, second = map(json.loads, written().splitlines())
    assert datetime.fromisoformat(first.pop("time")).tzinfo is not None
    assert first == {
        "level": "info",
        "logger": "sensorstream.app",
        "message": "taken 1",
        "request_id": "r1",
        "message_id": "m7",
    }
    assert "request_id" not in second


def test_a_traceback_stays_in_its_line_of_json(written: Written) -> None:
    logs.set_up("json", "warning")
    try:
        raise ValueError("ssk_abc_def")
    except ValueError:
        logging.getLogger("sensorstream").exception("it failed")
    [line] = map(json.loads, written().splitlines())
    assert line["error"].startswith("Traceback")
    assert line["error"].endswith("ValueError: ssk_***")


def test_no_message_forges_a_line_of_text(written: Written) -> None:
    logs.set_up("text", "warning")
    with logs.concerning(source="a\nb"):
        logging.getLogger("sensorstream").warning("one\r\ntwo\x1b[2J")
    [line] = written().splitlines()
    assert line.endswith(r"WARNING sensorstream: one\x0d\x0atwo\x1b[2J [source=a\x0ab]")


def test_ordinary_lines_of_other_libraries_are_left_out(written: Written) -> None:
    logs.set_up("text", "debug")
    logging.getLogger("httpx").info("HTTP Request: POST https://hooks.example.org/T0/B0/token")
    logging.getLogger("sensorstream.alerts").debug("seen")
    shown = written()
    assert "token" not in shown
    assert "seen" in shown


def test_the_line_of_a_request_has_no_query_and_of_a_long_path_the_beginning(
    written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs.set_up("text", "info")
    # An earlier test may have run uvicorn with its own settings of the log.
    access = logging.getLogger("uvicorn.access")
    for name, value in (("propagate", True), ("handlers", []), ("disabled", False)):
        monkeypatch.setattr(access, name, value)
    monkeypatch.setattr(logging.getLogger("uvicorn"), "propagate", True)
    access.setLevel(logging.NOTSET)
    told = ("127.0.0.1:1", "GET", "/sparql?query=secret", "1.1", 200)
    logging.getLogger("uvicorn.access").info('%s - "%s %s HTTP/%s" %d', *told)
    assert '"GET /sparql HTTP/1.1" 200' in written()
    for last in "ab":
        access.info('%s - "%s %s HTTP/%s" %d', "::1", "GET", f"/{'y' * 60_000}{last}", "1.1", 404)
    one, other = written().splitlines()
    assert one.endswith('HTTP/1.1" 404')
    assert len(one) == len(other) < 600
    assert one.partition("GET")[2] != other.partition("GET")[2]


SECRET = st.text("abcXYZ019", min_size=8, max_size=20).map(lambda each: f"Q{each}")


@given(SECRET, st.sampled_from(["text", "json"]), st.text(max_size=10))
def test_secrets_are_not_written(secret: str, form: str, around: str) -> None:
    formatter = logs.JsonFormatter() if form == "json" else logs.TextFormatter()
    for told in (
        f"postgresql://user:{secret}@host/db",
        f"postgresql://:{secret}/@host/db",
        f"host=h password={secret} user=u",
        f"password = '{secret}'",
        f"ssk_{secret}_{secret}",
        f"whsec_{secret}+/=",
        f"Authorization: Bearer {secret}.{secret}",
    ):
        record = logging.LogRecord(
            "a", logging.ERROR, "", 0, f"{around} {told} {around}", None, None
        )
        assert secret not in formatter.format(record), told


@pytest.mark.parametrize("form", logs.FORMATS)
@pytest.mark.parametrize("piece", ["a.", "a://", "a://b:", "password=", "bearer "])
def test_what_a_client_sends_does_not_hold_the_log_and_is_cut(
    written: Written, form: str, piece: str
) -> None:
    logs.set_up(form, "info")
    # A search of each place from each place would take hours.
    logging.getLogger("sensorstream.app").warning("'%s' is no number", piece * 1_000_000)
    line = written()
    assert len(line) < 20_000
    assert "characters)" in line


def test_a_secret_at_the_place_where_a_line_is_cut_is_not_written(written: Written) -> None:
    logs.set_up("text", "info")
    for length in range(16_200, 16_400, 7):
        logging.getLogger("sensorstream.app").warning(
            "%s postgresql://me:hush-hush@host/ %s", "x" * length, "y" * 9_000
        )
    assert "hush" not in written()


@pytest.mark.parametrize("form", logs.FORMATS)
def test_of_what_a_client_sent_a_line_holds_a_little(written: Written, form: str) -> None:
    logs.set_up(form, "info")
    logging.getLogger("sensorstream").warning("refused: %s", "x" * 60_000)
    assert len(written()) < 2_500


@pytest.mark.parametrize(
    ("traceparent", "ids"),
    [
        ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", True),
        ("cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-later", True),
        ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-later", False),
        ("ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", False),
        ("00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01", False),
        (f"00-{'0' * 32}-b7ad6b7169203331-01", False),
        (f"00-0af7651916cd43dd8448eb211c80319c-{'0' * 16}-01", False),
        ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\n", False),
        ("", False),
    ],
)
def test_a_traceparent_names_a_span_if_it_is_valid(traceparent: str, ids: bool) -> None:
    told = {
        "trace_id": "0af7651916cd43dd8448eb211c80319c",
        "span_id": "b7ad6b7169203331",
        "trace_flags": "01",
    }
    assert logs.trace_facts(traceparent) == (told if ids else {})
