"""Faults at random points under load, and then a comparison with a run without any.

``python -m tests.integration.endurance --rounds 50``. What "nothing is lost, nothing is twice"
means for each thing that a server says is in :mod:`tests.integration.endurance.comparison`.
"""

from __future__ import annotations

import argparse
import math
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.integration.endurance.run import endure


def main(arguments: Sequence[str]) -> int:
    """Run it in a folder of its own and print what was counted."""
    parser = argparse.ArgumentParser(prog="endurance", description=__doc__)
    parser.add_argument("--rounds", type=int, default=50, help="how often the server is killed")
    parser.add_argument("--seed", type=int, default=1, help="other faults at other points")
    parser.add_argument("--minutes", type=float, default=math.inf, help="for the rounds, at most")
    parser.add_argument("--folder", type=Path, help="an empty folder that is left as it is")
    options = parser.parse_args(arguments)
    # Ends the processes below, too, and gives the disk back.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with TemporaryDirectory(prefix="sensorstream-endurance-") as name:
        folder = options.folder or Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o755)
        try:
            counted = endure(
                folder, options.rounds, options.seed, minutes=options.minutes, say=_say
            )
        except BaseException:
            for log in folder.glob("*.log"):
                _say(f"{log.name} ends with:\n{log.read_text(errors='replace')[-5000:]}")
            raise
    for what, count in counted.items():
        _say(f"{what:28}{count:8}")
    return 0


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
