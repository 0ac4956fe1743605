"""The commands that README and the guide show are run, in order, as they stand there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.inputs.mqtt_brokers import free_port

ROOT = Path(__file__).parents[2]
GUIDE = "docs/start/getting-started.md"
_BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(text: str) -> list[str]:
    """The shell blocks of a text, but for set-up, which has happened."""
    found: list[str] = _BLOCK.findall(text)
    ready = [block.replace(". .venv/bin/activate\n", "") for block in found]
    return [block for block in ready if not block.startswith("make ")]


@contextmanager
def terminal(folder: Path, port: int) -> Iterator[subprocess.Popen[str]]:
    """A shell that stops at the first command that fails."""
    binaries = Path(sys.executable).parent
    environment = {
        **os.environ,
        "PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}",
        "SENSORSTREAM_SERVER_PORT": str(port),
    }
    with subprocess.Popen(
        ["bash", "-e"],
        cwd=folder,
        env=environment,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as shell:
        yield shell


def parts(document: str) -> tuple[str, str]:
    """A document before and from the section about data of one's own on."""
    text = (ROOT / document).read_text(encoding="utf-8")
    before, heading, after = text.partition("## 7. Your own data\n")
    return before, heading + after


def follow(text: str, folder: Path) -> str:
    """Run all blocks of a text; ``serve`` and ``listen`` run until the last one is done.

    Gives what the commands printed, of ``listen`` the first two lines.
    """
    port = free_port()
    before: list[str] = []
    serve: list[str] = []
    listen: list[str] = []
    after: list[str] = []
    for block in blocks(text):
        if block.strip() == "sensorstream serve":
            serve.append(block)
        elif " listen " in block:
            listen.append(block)
        else:
            (after if serve else before).append(block)
    assert before
    assert serve == ["sensorstream serve\n"]
    with terminal(folder, port) as first:
        printed, _ = first.communicate("".join((*before, "pwd\n")))
        assert first.returncode == 0, printed
    place = Path(printed.splitlines()[-1])
    with terminal(place, port) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write("exec sensorstream serve\n")
        server.stdin.close()
        told = server.stdout.readline()
        while told.endswith(" s\n"):  # what it does, if that takes long
            told = server.stdout.readline()
        assert told == f"listening on http://127.0.0.1:{port}\n"
        try:
            with listening(place, listen) as heard:
                with terminal(place, port) as second:
                    rest, _ = second.communicate("".join(after))
                    assert second.returncode == 0, rest
                rest += "".join(heard() for _ in listen)
        finally:
            server.terminate()
            assert server.wait(120) == 0
    return printed + rest


@contextmanager
def listening(place: Path, blocks: list[str]) -> Iterator[Callable[[], str]]:
    """Run the blocks that receive; gives what reads the next line of one."""
    with ExitStack() as stack:
        shells = [stack.enter_context(terminal(place, 0)) for _ in blocks]
        for shell, block in zip(shells, blocks, strict=True):
            assert shell.stdin is not None
            assert shell.stdout is not None
            shell.stdin.write(f"exec {block}")
            shell.stdin.close()
            stack.callback(shell.terminate)
            assert shell.stdout.readline().startswith("listening on ")
        yield lambda: "".join(shell.stdout.readline() for shell in shells if shell.stdout)


@pytest.mark.timeout(1200)
def test_the_tour_of_the_readme_works(tmp_path: Path) -> None:
    printed = follow((ROOT / "README.md").read_text(encoding="utf-8"), tmp_path)
    assert ":human-2678 a :Human ;\n\t:hasTime 2678 ;" in printed
    shown = (ROOT / "README.md").read_text(encoding="utf-8").partition("```turtle\n")[2]
    assert shown.partition("```")[0] in printed
    for inferred in ("Actor", "Mobile", "ConfidentDetection", "AtEntrance"):
        assert f"http://sensorstream.example/tracking#{inferred}\n" in printed
    assert "1500 accepted, 0 unmatched, 0 rejected" in printed
    counted = re.findall(r'"time": (\d+), "op": "\+", .*?"value": "(\d+)"', printed)
    assert counted == [("2678", "1"), ("2679", "2"), ("2680", "3")]


@pytest.mark.timeout(1200)
def test_the_guide_works(tmp_path: Path) -> None:
    printed = follow(parts(GUIDE)[0], tmp_path)
    assert printed.count("ok: 31 classes") == 2
    assert printed.count("1 passed, 0 failed") == 1
    assert printed.count("  reply   <Command door='main' light='on'/>") >= 2  # by run and by send
    assert "1 mapping rule, 3 semantic rules" in printed
    assert "1200 accepted, 0 unmatched, 0 rejected" in printed
    # PostgreSQL and Spark were asked the same.
    assert len(re.findall(r"^count +avg\n +\d{3} +[\d.]+$", printed, re.MULTILINE)) == 2
    assert "wrote 1201 messages to recorded" in printed


def test_twelve_commands_lead_from_a_message_to_a_signed_alert(tmp_path: Path) -> None:
    text = parts(GUIDE)[1].replace("9000", str(free_port()))
    [message, *others] = blocks(text)
    assert message.startswith("cat > bus.xml")
    commands = re.sub(r"<<'(\w+)'.*?^\1$", "", "".join((message, *others)), flags=re.M | re.S)
    installing = ["python -m venv", "pip install"]
    assert len(commands.splitlines()[1:] + installing) <= 12
    printed = follow(text, tmp_path)
    assert ":vehicle-17 a :Vehicle ;" in printed
    assert "messages: 1 accepted" in printed
    assert "1 passed, 0 failed" in printed
    assert "ok: 2 classes, 7 properties, 2 mapping rules, 1 semantic rule" in printed
    assert printed.endswith(" sensorstream.alert.rule: line 4A is 30 s late\n")


def test_every_link_of_the_readme_leads_somewhere() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    links = re.findall(r"\]\(([\w./-]+)\)", text)
    assert len(links) > 8
    assert [link for link in links if not (ROOT / link).exists()] == []
