"""The commands that make keys, and a server that needs them."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event

import httpx
import pytest
from click.testing import Result

from sensorstream.cli.demo.server_process import ServerProcess
from tests.waiting import eventually

Run = Callable[..., Result]


@dataclass(frozen=True)
class Keyed:
    config: Path
    url: str
    first: str
    """A key that was made before the server ran."""


@pytest.fixture(scope="module")
def keyed(run: Run, new_workspace: Callable[[], Path]) -> Iterator[Keyed]:
    config = new_workspace()
    config.write_text(config.read_text().replace("[http]\n", "[http]\nkeys = true\n"))
    made = run("keys", "create", "-c", config, "--name", "first", "--role", "admin", status=0)
    with ServerProcess(config) as process:
        yield Keyed(config, process.url(), made.stdout.strip())


def status(keyed: Keyed, key: str, path: str = "/window") -> int:
    headers = {"Authorization": f"Bearer {key}"}
    return httpx.get(f"{keyed.url}{path}", headers=headers, trust_env=False).status_code


@pytest.mark.parametrize(
    "shown",
    [
        "x",
        "ssk_" + "x" * 60_000,
        "ssk_" + "x" * 600_000,
        "Bearer " * 2_000,
        "a.b.c",
        "." * 20_000,
        "\x00",
        "\xff\xfe",
        "ssk_%s",
        " ",
    ],
)
def test_whatever_is_shown_as_a_key_is_refused_and_the_server_goes_on(
    keyed: Keyed, shown: str
) -> None:
    host, port = keyed.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=300) as client:
        with suppress(ConnectionError):
            client.sendall(b"GET /window HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ")
            client.sendall(shown.encode("latin-1") + b"\r\nConnection: close\r\n\r\n")
        with suppress(ConnectionError):
            answer = client.recv(12)
            assert answer in (b"HTTP/1.1 400", b"HTTP/1.1 401", b"HTTP/1.1 431")
    assert status(keyed, keyed.first) == 200


def test_who_guesses_keys_keeps_nobody_out_and_fills_no_table(keyed: Keyed) -> None:
    stop, guesses = Event(), [0, 0, 0]

    def guess(number: int) -> None:
        with httpx.Client(trust_env=False, timeout=60) as client:
            while not stop.is_set():
                shown = f"{keyed.first[:12]}{number}{guesses[number]:040d}"
                headers = {"Authorization": f"Bearer {shown}"}
                assert client.get(f"{keyed.url}/window", headers=headers).status_code == 401
                guesses[number] += 1

    with ThreadPoolExecutor(3) as pool:
        guessing = [pool.submit(guess, number) for number in range(3)]
        try:
            for _ in range(10):
                assert status(keyed, keyed.first) == 200
            while min(guesses) < 50:
                assert not any(each.done() for each in guessing)
        finally:
            stop.set()
        for each in guessing:
            each.result(300)
    audited = httpx.get(
        f"{keyed.url}/audit", headers={"Authorization": f"Bearer {keyed.first}"}, trust_env=False
    )
    assert audited.status_code == 200
    assert 401 not in {each["status"] for each in audited.json()["changes"]}


def create(run: Run, keyed: Keyed, name: str, *more: str) -> str:
    made = run("keys", "create", "-c", keyed.config, "--name", name, *more, status=0)
    return made.stdout.strip()


def test_the_first_key_is_made_before_the_server_runs(keyed: Keyed) -> None:
    assert keyed.first.startswith("ssk_")
    assert status(keyed, keyed.first) == 200
    assert status(keyed, "ssk_nonsense") == 401


def test_a_running_server_heeds_new_revoked_and_replaced_keys(run: Run, keyed: Keyed) -> None:
    key = create(run, keyed, "reader", "--role", "query")
    eventually(lambda: status(keyed, key) == 200)
    assert status(keyed, key, "/webhooks") == 403

    rotated = run("keys", "rotate", "reader", "-c", keyed.config)
    new = rotated.stdout.strip()
    eventually(lambda: status(keyed, new) == 200)
    assert status(keyed, key) == 200
    last = json.loads(
        run("keys", "rotate", "reader", "-c", keyed.config, "--overlap", "PT0S", "--json").stdout
    )
    eventually(lambda: status(keyed, new) == 401)
    assert status(keyed, key) == 401
    assert status(keyed, last["key"]) == 200

    gone = run("keys", "revoke", last["prefix"], "-c", keyed.config)
    assert gone.stdout == f"revoked {last['prefix']}\n"
    eventually(lambda: status(keyed, last["key"]) == 401)
    again = run("keys", "revoke", last["prefix"], "-c", keyed.config, status=1)
    assert "error[unknown-key]" in again.stderr


def test_keys_are_listed_without_their_secrets(run: Run, keyed: Keyed) -> None:
    key = create(
        run,
        keyed,
        "camera",
        "--role",
        "ingest",
        "--source",
        "c1",
        "--source",
        "c2",
        "--expires",
        "never",
    )
    listed = run("keys", "list", "-c", keyed.config)
    assert key[:12] in listed.stdout
    assert key[12:] not in listed.stdout
    told = json.loads(run("keys", "list", "-c", keyed.config, "--json").stdout)
    camera = next(each for each in told if each["name"] == "camera")
    assert (camera["roles"], camera["sources"]) == (["ingest"], ["c1", "c2"])
    assert (camera["state"], camera["expires_at"], camera["used_at"]) == ("active", None, None)
    first = next(each for each in told if each["name"] == "first")
    assert first["expires_at"] > first["created_at"]


def test_what_makes_no_key_is_refused(run: Run, keyed: Keyed) -> None:
    def refused(*options: str) -> str:
        found = run("keys", "create", "-c", keyed.config, *options, status=2)
        return found.stderr

    assert "there is a key 'first'" in refused("--name", "first", "--role", "query")
    assert "only --role ingest" in refused("--name", "x", "--role", "query", "--source", "c")
    assert "printable" in refused("--name", "a\nb", "--role", "query")
    for never in ("tomorrow", "-P1D", "PT0S", "P999999999999D", "P3650000D"):
        assert "--expires" in refused("--name", "x", "--role", "query", "--expires", never)
    assert "chief" in refused("--name", "x", "--role", "chief")
    gone = run("keys", "rotate", "nobody", "-c", keyed.config)
    assert "error[unknown-key]: no key that is not revoked has the name 'nobody'" in gone.stderr


def test_the_making_of_keys_is_in_the_audit_log(run: Run, keyed: Keyed) -> None:
    create(run, keyed, "noted", "--role", "query")
    headers = {"Authorization": f"Bearer {keyed.first}"}
    answer = httpx.get(f"{keyed.url}/audit?limit=1", headers=headers, trust_env=False)
    newest = answer.json()["changes"][0]
    assert (newest["kind"], newest["method"], newest["path"]) == (
        "command",
        "command",
        "keys create noted",
    )


def test_the_commands_show_a_key(
    run: Run, keyed: Keyed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = run("window", "--url", keyed.url, status=1)
    assert "error[unauthenticated]: no key was shown" in refused.stderr
    monkeypatch.setenv("SENSORSTREAM_KEY", keyed.first)
    assert run("window", "--url", keyed.url).exit_code == 0
    # The file wins over the variable.
    monkeypatch.setenv("SENSORSTREAM_KEY", "ssk_wrong")
    file = tmp_path / "key"
    file.write_text(f"{keyed.first}\n")
    assert run("window", "--url", keyed.url, "--key-file", file).exit_code == 0
    file.write_text("two\nlines")
    assert (
        "error[settings]: the key is not one line"
        in run("window", "--url", keyed.url, "--key-file", file).stderr
    )
    file.write_text("")
    assert "is empty" in run("window", "--url", keyed.url, "--key-file", file).stderr
    assert run("window", "--url", keyed.url, "--key-file", tmp_path / "none").exit_code == 1


def test_nobody_reads_the_keys_by_sql(keyed: Keyed) -> None:
    headers = {"Authorization": f"Bearer {keyed.first}"}
    for table in ("store.keys", "store.audit"):
        answer = httpx.post(
            f"{keyed.url}/sql",
            json={"query": f"select * from {table}"},
            headers=headers,
            trust_env=False,
        )
        assert answer.status_code == 400
        assert "permission denied" in answer.text
