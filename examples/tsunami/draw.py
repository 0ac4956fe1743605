"""Draw what a buoy measured, and when there was an alarm.

``python examples/tsunami/draw.py READINGS REPORTS OUT [BUOY]``: READINGS is a folder of messages,
REPORTS the lines that ``sensorstream run --json`` printed of them, OUT a PNG file.
"""

from __future__ import annotations

import argparse
import json
from datetime import datetime, timedelta
from pathlib import Path
from xml.etree import ElementTree

from matplotlib.figure import Figure

HOUR = timedelta(hours=1)


def main() -> None:
    """Read the arguments, draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("readings", type=Path, help="a folder of XML files")
    parser.add_argument("reports", type=Path, help="what 'run --json' printed")
    parser.add_argument("out", type=Path, help="the picture")
    parser.add_argument("buoy", nargs="?", default="46074", help="the number of the buoy")
    options = parser.parse_args()
    hours, heights = [], []
    begun = None
    for file in sorted(options.readings.glob("*.xml")):
        message = ElementTree.parse(file).getroot()
        time = datetime.fromisoformat(message.get("time", ""))
        begun = begun or time
        hours.append((time - begun) / HOUR)
        heights.append(float(message.findtext(f"buoy[@id='{options.buoy}']", "nan")) / 1000)
    assert begun is not None, "there are no readings"
    alarms = [
        ((datetime.fromisoformat(report["time"]) - begun) / HOUR, float(row["height"]["value"]))
        for line in options.reports.read_text(encoding="utf-8").splitlines()
        for report in json.loads(line)["reports"]
        for row in report["bindings"]
        if row["buoy"]["value"].endswith(options.buoy)
    ]
    figure = Figure(figsize=(8, 3), layout="constrained")
    axes = figure.subplots()
    axes.plot(hours, heights, linewidth=0.8, label=f"buoy {options.buoy}")
    levels = [height / 1000 for _, height in alarms]
    axes.plot([hour for hour, _ in alarms], levels, "r.", markersize=3, label="tsunami")
    axes.ticklabel_format(useOffset=False)
    axes.set_xlabel("hours")
    axes.set_ylabel("metres of water")
    axes.legend()
    figure.savefig(options.out)


if __name__ == "__main__":
    main()
