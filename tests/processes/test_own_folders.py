"""Folders of killed processes go with the next one; those in use stay."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import sensorstream
from sensorstream.processes.own_folders import own_folder

_HOLD = """
import sys
from pathlib import Path
from sensorstream.processes.own_folders import own_folder
with own_folder("mine-", Path(sys.argv[1])) as folder:
    (folder / "file").touch()
    print(folder, flush=True)
    sys.stdin.read()
"""


def test_the_folder_of_a_killed_process_goes_and_that_of_another_stays(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "mine-link").symlink_to(tmp_path / "other")
    with own_folder("mine-", tmp_path) as first:
        command = [sys.executable, "-c", _HOLD, str(tmp_path)]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as holder:
            assert holder.stdout is not None
            left = Path(holder.stdout.readline().strip())
            with own_folder("mine-", tmp_path) as second:
                assert (left / "file").exists()
                assert first.exists()
            assert not second.exists()
            holder.send_signal(signal.SIGKILL)
        assert left.exists()
        with own_folder("mine-", tmp_path):
            assert not left.exists()
        assert first.stat().st_mode & 0o777 == 0o700
    assert sorted(each.name for each in tmp_path.iterdir()) == ["mine-link", "other"]


def test_all_that_is_made_for_a_while_is_made_so() -> None:
    package = Path(sensorstream.__file__).parent
    others = re.compile(r"TemporaryDirectory|NamedTemporaryFile|mkdtemp|mkstemp")
    found = {
        str(each.relative_to(package))
        for each in package.rglob("*.py")
        if others.search(each.read_text())
    }
    # The folder of a new cluster is given to PostgreSQL's own user.
    assert found == {"processes/own_folders.py", "history/embedded.py"}
