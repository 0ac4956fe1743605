"""Other RML processors, each run by the Python that it is installed for."""

from __future__ import annotations

import resource
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final


@dataclass(frozen=True, slots=True)
class Processor:
    """``module`` is run with the path of a configuration; ``output`` is what it writes there."""

    name: str
    module: str
    configuration: str
    output: str


MORPH_KGC: Final = Processor(
    "morph-kgc",
    "morph_kgc",
    "[CONFIGURATION]\noutput_file = {folder}/morph.nt\nlogging_level = ERROR\n"
    "[Source]\nmappings = {mapping}\n",
    "morph.nt",
)
SDM_RDFIZER: Final = Processor(
    "sdm-rdfizer",
    "rdfizer",
    "[default]\nmain_directory = {folder}\n[datasets]\nnumber_of_datasets = 1\n"
    "output_folder = {folder}\nall_in_one_file = no\nremove_duplicate = yes\nenrichment = yes\n"
    "name = sdm\nordered = no\noutput_format = n-triples\nlarge_file = false\n"
    "[dataset1]\nname = sdm\nmapping = {mapping}\n",
    "sdm.nt",
)


class ProcessorFailed(Exception):
    """A processor did not map the document; the message is what it said."""


def seconds(processor: Processor, python: Path, mapping: Path, triples: int) -> float:
    """CPU seconds of a processor for a mapping, with its start.

    Raises:
        ProcessorFailed: it ended with an error, or made another number of triples.
    """
    folder = mapping.parent
    configuration = folder / f"{processor.module}.ini"
    configuration.write_text(
        processor.configuration.format(folder=folder, mapping=mapping), encoding="utf-8"
    )
    option = ["-c"] if processor is SDM_RDFIZER else []
    before = _children()
    done = subprocess.run(
        [python, "-m", processor.module, *option, configuration],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    spent = _children() - before
    output = folder / processor.output
    if done.returncode != 0 or not output.exists():
        raise ProcessorFailed(f"{processor.name}: {(done.stderr or done.stdout)[-500:].strip()}")
    made = len(set(output.read_text(encoding="utf-8").splitlines()))
    if made != triples:
        raise ProcessorFailed(f"{processor.name} made {made} triples: expected {triples}")
    return spent


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
