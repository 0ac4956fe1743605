"""Whether the rules of the settings' files are those that a start has found there before.

The rule sets of the reasoner decide what is inferred from each message, so a start writes them,
with the other rule files, into the journal: messages from before an edit meet what was in force
then.
"""

from __future__ import annotations

from sensorstream.app.exchange import FROM_SETTINGS
from sensorstream.app.rule_sets import rule_sets_of
from sensorstream.app.wiring import Deployment
from sensorstream.journal.store import Store
from sensorstream.journal.takeover import PutRules


def changed_rules(files: Deployment | str, store: Store) -> PutRules | None:
    """The entry of a start that finds other rules than the last one; None: the same, or others put.

    Without rule sets nothing is written before something is put.

    Args:
        files: what :func:`.read_files` has found.
        store: has the journal.

    Raises:
        HistoryError: the journal cannot be read.
    """
    if isinstance(files, str):
        return None
    last = store.last_accepted(PutRules.kind, store.last_seq())
    if last is None:
        if not rule_sets_of(files.texts):
            return None
    else:
        before = PutRules.decode(last.content, last.source)
        same = list(before.files.items()) == list(files.texts.items())
        if not before.found or (same and before.tables == files.tables):
            return None
    return PutRules(files.texts, FROM_SETTINGS, files.tables, found=True)
