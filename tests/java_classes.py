"""The Java classes of Spark and the reasoners in files: the tests start a JVM some hundred times.

``python -m tests.java_classes`` makes the files, as ``make test`` does once. With them Spark and
Pellet start with half of the CPU time, and HermiT with two thirds. The Java runtime does without a
file that does not fit.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

from sensorstream.reasoning.dl.reasoner_messages import IslandFacts
from sensorstream.reasoning.dl.reasoner_process import HEAP, java_home
from sensorstream.reasoning.dl.reasoner_worker import Served, start_java
from sensorstream.reasoning.dl.terminology import Terminology
from sensorstream.reasoning.ontology import load_ontology

OPTIONS: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""A JVM of the tests lives for seconds and keeps little: the second compiler, and a collector that
works beside the program, cost it more than they give back."""
_ONTOLOGIES: Final = Path(__file__).parents[1] / "ontologies"
_CONTRADICTION: Final = """\
<urn:a> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> \
<http://www.w3.org/2002/07/owl#Nothing> .
"""


def options() -> str:
    """The options of the JVMs of the tests, for ``JAVA_TOOL_OPTIONS``."""
    file = _file()
    # It tells about a file that does not fit, on stdout.
    return f"{OPTIONS} -Xlog:disable '-XX:AOTCache={file}'" if file.is_file() else OPTIONS


def _file() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "sensorstream" / "reasoners.aot"


def make() -> None:
    """Run Spark, and ask both reasoners meanwhile; keep the classes that they have loaded."""
    prepare = [sys.executable, "-m", "sensorstream", "spark", "prepare"]
    with subprocess.Popen(prepare, env=os.environ | {"JAVA_TOOL_OPTIONS": OPTIONS}) as spark:
        _ask_reasoners()
    assert spark.returncode == 0


def _ask_reasoners() -> None:
    file = _file()
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.environ["JAVA_TOOL_OPTIONS"] = f"{OPTIONS} -Xlog:disable '-XX:AOTCacheOutput={file}'"
    start_java(java_home(""), HEAP)
    ontology = load_ontology([_ONTOLOGIES / "tracking.ttl"])
    one = IslandFacts([None], [(0, str(min(ontology.schema.classes)))], [], [], [], [])
    served = Served()
    for reasoner in ("hermit", "pellet"):
        axioms = Terminology.of(ontology).document(reasoner).decode()
        assert served.load(reasoner, axioms)
        assert served.types([one])
        assert served.explain(axioms, _CONTRADICTION, 60.0)
        assert served.realise(axioms, ()) is not None

    import jpype

    # The classes are written when Java ends.
    jpype.shutdownJVM()


if __name__ == "__main__":
    make()
