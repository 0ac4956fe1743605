"""The process of a :class:`.Child`: ``python -m sensorstream.processes MODULE SOCKET ARGUMENT…``.
The module's ``main`` gets the connection to the owner, and the arguments.
"""

from __future__ import annotations

import importlib
import sys
from multiprocessing.connection import Connection

_, module, descriptor, *arguments = sys.argv
importlib.import_module(module).main(Connection(int(descriptor)), *arguments)
