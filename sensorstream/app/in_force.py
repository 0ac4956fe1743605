"""What a start puts in force: what was put last, else what the files of the settings say."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Final

from sensorstream.app.function_files import read_functions
from sensorstream.app.rule_texts import with_others
from sensorstream.app.successors import OntologyText, ontology_text
from sensorstream.app.wiring import Deployment, read_deployment
from sensorstream.errors import LanguageError, OntologyError, SettingsError
from sensorstream.journal.records import Store
from sensorstream.journal.takeover import PutOntology, PutRules
from sensorstream.reasoning.ontology import deployed_ontology, parse_put
from sensorstream.settings import Settings

_LOG = logging.getLogger(__name__)
_WAY_OUT: Final = (
    "or 'sensorstream journal list' has the number of {}, and 'sensorstream journal skip NUMBER' "
    "puts in force what was before it"
)


def read_files(settings: Settings) -> Deployment | str:
    """The deployment of the files that the settings name; or why there is none."""
    try:
        found = read_deployment(settings)
    except (LanguageError, OntologyError, SettingsError) as error:
        return str(error)
    for remark in found.ontology.remarks:
        _LOG.warning("%s: %s", remark.file, remark.text)
    return found


def in_force(
    settings: Settings, files: Deployment | str, store: Store, seq: int, *, again: bool = False
) -> tuple[Deployment, OntologyText | None]:
    """The deployment with ontology and rules in force after an entry; that ontology if it was put.

    What was put stays in force until something else is put, whatever the files say by now: they
    may be broken, as far as nothing of them is in force.

    Args:
        settings: of the deployment.
        files: what :func:`read_files` has found.
        store: has the journal.
        seq: the number of the entry.
        again: entries after it are processed again: rules that a start has found in the files
            count as it has found them, not as they are now.

    Raises:
        SettingsError: a setting is not valid, or a file that is in force cannot be read.
        OntologyError: an ontology that is in force cannot be loaded.
        LanguageError: a rule that is in force cannot be read or compiled.
        HistoryError: the journal cannot be read.
    """
    message = store.last_accepted(PutOntology.kind, seq)
    rules = store.last_accepted(PutRules.kind, seq)
    entry = None if rules is None else PutRules.decode(rules.content, rules.source)
    if entry is not None and entry.found and not again:
        rules = entry = None
    if message is None and rules is None:
        # Once more, for its error.
        return (read_deployment(settings) if isinstance(files, str) else files), None
    put = None if message is None else ontology_text(message)
    if put is not None:
        _LOG.info("the ontology is the one put as %s, not the one of the files", put.entry)
        try:
            ontology = parse_put(settings.ontology, put.content, put.media_type)
        except OntologyError as error:
            told = f"{error.message} (in the ontology put as {put.entry}: read it with the version"
            raise OntologyError(
                f"{told} that took it, {_WAY_OUT.format(put.entry)})", position=error.position
            ) from None
    elif isinstance(files, str):
        ontology = deployed_ontology(settings.ontology)
    else:
        ontology = files.ontology
    texts: Mapping[str, str] | None = None
    tables, change = None, ""
    if rules is not None and entry is not None:
        texts = with_others(settings, entry.files, whole=entry.whole)
        tables = entry.tables
        if not entry.found:
            change = rules.id
            _LOG.info("the rules are those put as %s, not those of the files", rules.id)
    if not isinstance(files, str):
        functions = files.reference.functions
        texts = files.texts if texts is None else texts
    elif rules is not None:
        # Those that can be read: the rules in force may need no others.
        functions, _ = read_functions(settings.functions.files)
    else:
        functions = None
    try:
        found = read_deployment(
            settings, ontology, texts=texts, put=change, tables=tables, functions=functions
        )
        return found, put
    except LanguageError as error:
        if entry is not None and entry.found:
            _LOG.warning(
                "the rules of the start before do not fit any more, those of the files count for "
                "messages from before it, too: %s",
                error,
            )
            return in_force(settings, files, store, seq)
        if not change:
            raise
        told = f"{error.message} (in the rules put as {change}, not in the files: does the ontology"
        raise LanguageError(
            f"{told} still have what they name? If not, {_WAY_OUT.format(change)})",
            position=error.position,
        ) from None


def tell_edited(files: Deployment | str, now: Deployment) -> None:
    """Log which files say something else than what is in force."""
    if isinstance(files, str):
        _LOG.error("the files are broken, and what was put is in force instead: %s", files)
        return
    ours, theirs = {**files.texts, **files.tables}, {**now.texts, **now.tables}
    edited = [each for each in {**theirs, **ours} if theirs.get(each) != ours.get(each)]
    if set(files.ontology.triples) != set(now.ontology.triples):
        edited.append("the ontology")
    if edited:
        told = ", ".join(edited)
        _LOG.warning("%s: not as put; 'sensorstream apply' puts the files in force", told)
