"""Run the benchmarks: ``python -m benchmarks [profile …]``."""

from __future__ import annotations

import sys

from benchmarks import paper

if __name__ == "__main__":
    paper.run(sys.argv[1:] or paper.PROFILES)
