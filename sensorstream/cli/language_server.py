"""``sensorstream language-server``: rules and queries in editors."""

from __future__ import annotations

import os
import sys

import click


@click.command("language-server")
def command() -> None:
    """Help editors with rules and queries: faults, completion, layout.

    Speaks the Language Server Protocol on standard input and output; docs/editors.md says how VS
    Code, Neovim and Emacs start it. It needs the extra "editor".
    """
    from sensorstream.extras import require

    require("editor", "the language server")
    from sensorstream.editor.server import make_server

    # Whatever prints, such as a function of the user's own, must not print into the protocol.
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as out:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        make_server().start_io(sys.stdin.buffer, out)
