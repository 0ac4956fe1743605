from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import psutil

from sensorstream.cli.init_command import TEMPLATES, make_workspace
from tests.waiting import eventually

OWNER = """
import signal, sys
from pathlib import Path
from sensorstream.cli.demo.server_process import ServerProcess
with ServerProcess(Path(sys.argv[1])) as process:
    print(process.url(), flush=True)
    signal.pause()
"""


def test_a_server_and_its_database_end_with_an_owner_that_is_killed(folder: Path) -> None:
    config = make_workspace(folder, TEMPLATES["tracking"], {"reasoning": {"profile": "plain"}})
    command = [sys.executable, "-c", OWNER, str(config)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline().startswith(b"http://")
        below = psutil.Process(owner.pid).children(recursive=True)
        postgres = Path(folder / "data" / "cluster" / "postmaster.pid")
        assert below
        assert postgres.exists()
        owner.kill()
    try:
        eventually(lambda: not any(each.is_running() for each in below))
        assert not postgres.exists()
    finally:
        for each in below:
            if each.is_running():
                each.terminate()
