"""``sensorstream replay``: which alerts other semantic rules would have raised."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sensorstream.cli.offline import FILE
from sensorstream.cli.options import config_option, instant_option, json_option
from sensorstream.settings_file import load_settings

if TYPE_CHECKING:
    from sensorstream.app.why.what_if import Comparison, WhatIf
    from sensorstream.model.timeline import Timeline


@click.command("replay")
@click.option("--from", "start", metavar="TIME", help="Compare the alerts from this time on.")
@click.option("--to", "end", metavar="TIME", help="Compare the alerts before this time.")
@click.option(
    "--rules",
    type=FILE,
    multiple=True,
    metavar="FILE",
    help="Semantic rules instead of the deployment's; may be given several times.",
)
@config_option
@json_option
def command(
    start: str | None, end: str | None, rules: tuple[Path, ...], config: Path, as_json: bool
) -> None:
    """Show which alerts other semantic rules would have raised.

    The messages of the journal go through an engine with the rules of --rules, or with those that
    the settings name now. Its alerts are compared with those that were raised: "+" would be
    raised, "-" was raised and would not be, "=" is the same. Nothing is changed.

    The journal is processed from the first entry that is kept, whatever --from says, for the window
    and the memory of the rules depend on all before. Works beside a running server and without one.
    """
    settings = load_settings(config)
    line = settings.time.timeline
    first, last = instant_option("--from", start, line), instant_option("--to", end, line)
    if first is not None and last is not None and last <= first:
        raise click.BadParameter(f"'{end}' is not after '{start}'", param_hint="--to")
    from sensorstream.app.why.what_if import what_if
    from sensorstream.cli.lasting import lasting
    from sensorstream.cli.terminal import print_json
    from sensorstream.history.opening import open_kept

    with ExitStack() as stack:
        say = stack.enter_context(lasting("opening the history", quiet=as_json))
        url = open_kept(settings.history, stack)
        doing = "processing the journal"
        say(doing)
        found = what_if(
            settings,
            url,
            rules,
            first,
            last,
            lambda done, of: say(doing, f"{done} of {of} entries"),
        )
    if as_json:
        since = None if found.since is None else found.since.isoformat()
        print_json(
            {
                "entries": found.entries,
                "since": since,
                "whole": found.whole,
                "alerts": [_plain(each, line) for each in found.alerts],
                "reports": dict(found.reports),
                "unanswered": dict(found.unanswered),
            }
        )
        return
    _show(found, line)


def _plain(compared: Comparison, line: Timeline) -> dict[str, object]:
    from sensorstream.alerts.cloudevents import plain_alert

    told = dict(plain_alert(compared.alert, line))
    # It depends on how many alerts a message raises.
    del told["id"]
    return told | {"did": compared.did, "would": compared.would}


def _show(found: WhatIf, line: Timeline) -> None:
    signs = {(True, True): "=", (True, False): "-", (False, True): "+"}
    counts = dict.fromkeys(signs.values(), 0)
    for each in found.alerts:
        sign, alert = signs[each.did, each.would], each.alert
        counts[sign] += 1
        click.echo(f"{sign} {line.format(alert.time)} {alert.severity} {alert.rule}: {alert.text}")
    click.echo(
        f"{found.entries} entries: {counts['=']} alerts as they were, {counts['+']} more, "
        f"{counts['-']} fewer",
        err=True,
    )
    for name, count in sorted(found.reports.items()):
        click.echo(f"query {name}: {count} reports", err=True)
    for name, count in sorted(found.unanswered.items()):
        click.echo(
            f"rule {name}: {count} questions to the history have no answer in the journal, and "
            "nobody is asked now: what it would raise is not known",
            err=True,
        )
    if not found.whole and found.since is not None:
        click.echo(
            f"the journal begins at {found.since.isoformat()}: what was before is missing, so "
            "that alerts of that beginning may differ",
            err=True,
        )
