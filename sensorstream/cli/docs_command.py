"""``sensorstream docs``: the documents of this version, in a browser and without the internet."""

from __future__ import annotations

from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import click

from sensorstream.errors import SettingsError
from sensorstream.installation import bundled


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: requests of one's own browser are no news."""


@click.command("docs")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="The port; 0: a free one.")
def command(port: int) -> None:
    """Serve the documents of this version to a browser.

    Only this machine reaches them; Ctrl-C ends it.
    """
    folder = bundled("site")
    if not (folder / "index.html").exists():
        raise SettingsError("this installation has no documents: 'make docs' builds them")
    with ThreadingHTTPServer(("127.0.0.1", port), partial(_Quiet, directory=folder)) as server:
        click.echo(f"listening on http://127.0.0.1:{server.server_port}/")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return
