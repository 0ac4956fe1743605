"""A command that ends with the process that has started it, even if that is killed."""

from __future__ import annotations

import os
import signal
import sys
from threading import Thread

from sensorstream.cli import main
from sensorstream.processes.pipe_waits import wait_for_hang_up


def _end_with_owner() -> None:
    wait_for_hang_up(sys.stdin.fileno())
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    # The owner has the other end of this pipe, which the system closes however the owner ends.
    Thread(target=_end_with_owner, name="owner", daemon=True).start()
    main(sys.argv[1:], prog_name="sensorstream")
