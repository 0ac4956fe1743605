"""Servers that are killed and started again."""

from __future__ import annotations

from tests.forked import commands_are_forks as commands_are_forks
