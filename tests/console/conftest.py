"""A server with keys, and a browser."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium import webdriver

from sensorstream import Client
from sensorstream.cli.demo.server_process import ServerProcess
from tests.console.browsing import Keyed, Pages
from tests.forked import commands_are_forks as commands_are_forks

CLI = [sys.executable, "-m", "sensorstream"]
_DRIVER = "chromedriver"
_OPTIONS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    "--window-size=1300,850",
    # Half of the work on a page was to draw its transitions.
    "--force-prefers-reduced-motion",
)


# A fence with a name, and a unit.
_MORE = """
@prefix geo: <http://www.opengis.net/ont/geosparql#> .
:yard rdfs:label "Harbour yard" ; geo:asWKT
  "POLYGON((24.93 60.16, 24.96 60.16, 24.96 60.18, 24.93 60.16))"^^geo:wktLiteral .
:hasCertainty <http://qudt.org/schema/qudt/hasUnit> <http://qudt.org/vocab/unit/PERCENT> .
"""
_SHAPES = """@prefix : <http://sensorstream.example/tracking#> .
@prefix sh: <http://www.w3.org/ns/shacl#> .
:Certain a sh:NodeShape ; sh:targetNode :human-990 ; sh:property [ sh:path :hasCertainty ;
  sh:minInclusive 20 ; sh:severity sh:Warning ; sh:message "too uncertain" ] ."""


@pytest.fixture(scope="package")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Keyed]:
    """A server of the tracking deployment that needs keys, with the key of an administrator."""
    folder = tmp_path_factory.mktemp("console") / "tracking"
    subprocess.run([*CLI, "init", str(folder)], check=True, capture_output=True)
    ontology = folder / "ontology" / "tracking.ttl"
    ontology.write_text(ontology.read_text() + _MORE)
    config = folder / "sensorstream.toml"
    text = config.read_text().replace("[http]\n", "[http]\nkeys = true\n")
    # One shape, of somebody whom only the tests of shapes see; it raises no alert.
    text = text.replace("[shapes]\n", '[shapes]\nfiles = ["shapes.ttl"]\nlive = false\n')
    (folder / "shapes.ttl").write_text(_SHAPES)
    config.write_text(text.replace("[webhooks]\n", '[webhooks]\nallow = ["127.0.0.1"]\n'))
    made = [*CLI, "keys", "create", "-c", str(config), "--name", "ann"]
    roles = ["--role", "admin", "--role", "ingest"]
    key = subprocess.run([*made, *roles], check=False, capture_output=True, text=True)
    assert key.returncode == 0, key.stderr
    with ServerProcess(config) as process:
        yield Keyed(process.url(), key.stdout.strip(), folder / "serve.log")


@pytest.fixture(scope="package")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    """Debian's Chromium without a window."""
    chromium, driver = shutil.which("chromium"), shutil.which(_DRIVER)
    if chromium is None or driver is None:
        pytest.skip("no chromium with its driver (Debian: chromium, chromium-driver)")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    folder: Path = tmp_path_factory.mktemp("profile")
    for each in (*_OPTIONS, f"--user-data-dir={folder}"):
        options.add_argument(each)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    chrome = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    yield chrome
    chrome.quit()


@pytest.fixture
def pages(keyed: Keyed, browser: webdriver.Chrome) -> Iterator[Pages]:
    """The pages of the server, in which the browser finds no fault."""
    with Client(keyed.url, key=keyed.key) as client:
        made = Pages(browser, keyed, client)
        yield made
    # A page may keep what it shows, which is for no other test.
    browser.execute_script("try { localStorage.clear() } catch {}")
    assert made.faults() == []
