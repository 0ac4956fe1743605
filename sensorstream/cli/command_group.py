"""The command ``sensorstream``: finds its subcommands and turns errors into exit codes.

Exit codes: 0 success; 1 an input is wrong (a rule file, a message, a query, a setting); 2 the
command line itself cannot be read; 3 the system failed (database, reasoner, Spark, a server that
does not answer).
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from typing import IO, Any, Final

import click

from sensorstream.cli.terminal import signals_repeated
from sensorstream.errors import SensorStreamError, address_of

COMMANDS: Final[Mapping[str, str]] = {
    "init": "Make a working folder: settings, ontology, rules and sample messages.",
    "check": "Check the settings, the ontology, the rules and the queries.",
    "config": "Show the settings of a deployment, and where each comes from.",
    "doctor": "Look for what keeps a deployment from its work, and tell the way out.",
    "fmt": "Lay out rule files; print queries of other stream languages in ours.",
    "language-server": "Help editors with rules and queries: faults, completion, layout.",
    "map": "Show what the mapping rules make of messages, as Turtle or TriG.",
    "rml": "Turn mapping rules into RML, and RML into mapping rules.",
    "ruleset": "List, show, copy and minimise sets of entailment rules, to edit them.",
    "serve": "Run the server.",
    "stream": "Run the pipeline on Spark: an engine for each key of the messages.",
    "health": "Show whether a running server can do its work, part by part.",
    "send": "Send XML messages to a running server.",
    "simulate": "Simulate messages: faces, a city, auctions, stocks, deliveries, buoys, fires.",
    "resend": "Send recorded messages again.",
    "query": "Query the knowledge base in SPARQL: what holds now, and what once held.",
    "queries": "Register, read, follow and remove the continuous queries of a running server.",
    "alerts": "List or follow the alerts of a running server, and see to them.",
    "try-message": "Show what a server's rules, or others, would make of a message.",
    "why": "Show why an alert was raised or a statement holds, down to each XPath.",
    "why-not": "Show what keeps a rule from firing for an individual.",
    "webhooks": "Register webhooks with a running server, and see to their deliveries.",
    "messages": "List the newest messages of a running server, or show what became of one.",
    "quarantine": "Look at and replay the messages that a running server did not take in.",
    "journal": "List the entries of the journal, and skip one that stops the server.",
    "window": "Show the window of a running server and its individuals, oldest first.",
    "shapes": "Show which shapes the window of a running server violates.",
    "individuals": "Show the latest values of individuals that a running server knows.",
    "ontology": "Read or replace the ontology of a running server.",
    "rules": "List the rules of a running server; read and change their files.",
    "apply": "Put what a folder holds in force on a running server.",
    "run": "Run messages through a deployment, or queries and rules over recorded events.",
    "validate": "Check whether data conform to shapes (SHACL).",
    "test": "Run stories: messages, and what must become of them.",
    "explain": "Show the operators of a continuous query as a tree.",
    "sql": "Query the history in SQL, on PostgreSQL or Spark, or its archive.",
    "jobs": "Start long questions to Spark and read their results; list and cancel all that runs.",
    "spark": "Ask the history many questions in one Spark; let Spark start sooner.",
    "replay": "Show which alerts other semantic rules would have raised.",
    "rereason": "Compute anew what is inferred in history, with the ontology in force now.",
    "keys": "Make, list, revoke and replace the API keys of a deployment.",
    "audit": "Show who changed what on a running server.",
    "db": "Tell other programs how to reach the history's PostgreSQL.",
    "archive": "Move old history out of PostgreSQL into Parquet files.",
    "erase": "Erase an individual from journal, history, alerts and archive.",
    "backup": "Write a deployment, its database and its archive to one file.",
    "restore": "Make a deployment of a backup, in a folder that is new or empty.",
    "backfill": "Fill history from folders and archives of XML messages.",
    "demo": "See the main job live, in about a minute.",
    "docs": "Serve the documents of this version to a browser.",
}
"""Name and sentence of each command; its module is imported when it is called."""

_ALIASES: Final[Mapping[str, str]] = {"webhook": "webhooks"}
"""Other names: a listener is one webhook: ``sensorstream webhook listen``."""

_HOMES: Final[Mapping[str, tuple[str, ...]]] = {
    "alerts": ("why", "why-not"),
    "archive": ("backfill",),
    "backup": ("restore",),
    "check": ("test",),
    "doctor": ("config",),
    "fmt": ("language-server",),
    "history": ("db", "erase", "rereason"),
    "journal": ("replay",),
    "map": ("try-message",),
    "query": ("sql", "jobs"),
    "rules": ("ontology", "queries"),
    "ruleset": ("rml",),
    "send": ("resend",),
    "server_state": (
        "messages",
        "quarantine",
        "window",
        "individuals",
        "shapes",
        "health",
        "audit",
    ),
    "spark": ("stream",),
}
"""Modules with several commands: the others stand there by their own names."""
_HOME_OF: Final = {name: home for home, names in _HOMES.items() for name in names}


class CommandFailure(click.ClickException):
    """A SensorStream error for the user: one line on stderr and an exit code.

    On a terminal a second line names the page of the documents that says more.
    """

    def __init__(self, code: str, message: str, page: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.page = page

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(f"error[{self.code}]: {self.message}", file=file, err=True)
        if self.page and sys.stderr.isatty():
            click.echo(f"see {address_of(self.page)} ('sensorstream docs' serves it)", err=True)


class SystemFailure(CommandFailure):
    """A failure that does not depend on the input."""

    exit_code = 3


class Commands(click.Group):
    """The subcommands, imported one at a time so that ``--help`` is quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        cmd_name = _ALIASES.get(cmd_name, cmd_name)
        if cmd_name not in COMMANDS:
            return None
        home = _HOME_OF.get(cmd_name)
        name = "command" if home is None else cmd_name.replace("-", "_")
        module = importlib.import_module(f"sensorstream.cli.{home or cmd_name}_command")
        command = getattr(module, name)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except SensorStreamError as error:
            kind = SystemFailure if error.of_system else CommandFailure
            raise kind(error.code, str(error), error.page) from error
        except OSError as error:
            if error.filename is None:  # not a file of the user: a closed pipe, or a defect
                raise
            raise CommandFailure("file", f"{error.filename}: {error.strerror}") from error


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 fine, 1 an input is wrong, 2 wrong usage, 3 the system failed.",
)
@click.version_option(
    package_name="sensorstream",
    prog_name="sensorstream",
    message="%(prog)s %(version)s",
    help="Print the version.",
)
@click.pass_context
def main(context: click.Context) -> None:
    """Turn streams of XML sensor messages into knowledge, alerts and history."""
    context.with_resource(signals_repeated())
