"""The rule files of a deployment, and the rule sets of its reasoner, as texts with names, so that
they can be changed while it runs.

They are the files of ``rules.files``: in the rule language, RML, or stylesheets; and the rule sets
of ``reasoning.profile``. A bundled rule set has the name ``owl2rl.ru``, one of a file that of the
file.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath
from typing import Final

from sensorstream.app.control.file_texts import (
    NOTHING_UNSAVED,
    RULE_SET,
    below,
    is_over_time,
    is_rule_set,
    text_of,
)
from sensorstream.app.control.mapping_files import check_sources, is_rml, is_rule_file
from sensorstream.errors import (
    LanguageError,
    ProgramError,
    QueryError,
    RulesError,
    SensorStreamError,
    SettingsError,
)
from sensorstream.language.rule_parser import parse, parse_with_recovery
from sensorstream.language.syntax import RuleFile
from sensorstream.language.wellformed import same_names
from sensorstream.mapping.functions.function_definition import Library
from sensorstream.mapping.reference_data import TABLE_SUFFIX
from sensorstream.reasoning.profiles import check_profile, rule_set_names
from sensorstream.reasoning.profiles import text_of as rule_set_text
from sensorstream.reasoning.rulesets.rule_set import RuleSet, combined
from sensorstream.reasoning.rulesets.rule_set_reader import SUMMARIES, read
from sensorstream.reasoning.rulesets.rule_set_reader import text_of as bundled_text
from sensorstream.settings.settings import Settings

_OTHER: Final = "set reasoning.profile to {}, and start the server again"


def rule_sets_of(texts: Mapping[str, str]) -> dict[str, str]:
    """The texts that are rule sets, by name."""
    return {name: text for name, text in texts.items() if is_rule_set(PurePath(name))}


def rule_set_paths(settings: Settings) -> dict[str, Path | None]:
    """The rule sets of the profile by name, in their order; None: it is bundled.

    Raises:
        SettingsError: two have one name.
    """
    folder = settings.folder
    sources = dict.fromkeys(rule_set_names(settings.reasoning.profile))
    often = Counter(_ended(PurePath(each).name) for each in sources)
    found: dict[str, Path | None] = {}
    for source in sources:
        bundled = source in SUMMARIES
        single = bundled or often[_ended(PurePath(source).name)] == 1
        name = _ended(PurePath(source).name if single else below(folder, folder / source))
        if name in found:
            raise SettingsError(
                f"reasoning.profile: two rule sets have the name {name}: rename a file"
            )
        found[name] = None if bundled else folder / source
    return found


def rule_set_files(profile: str, folder: Path) -> list[Path]:
    """The files among the rule sets of a profile; their paths begin at a folder."""
    names = rule_set_names(profile)
    return [folder / each for each in names if each not in SUMMARIES]


def read_rule_set_texts(
    settings: Settings, unsaved: Mapping[Path, str] = NOTHING_UNSAVED
) -> dict[str, str]:
    """The text of each rule set of the profile, by name. ``unsaved`` are the texts of files that
    count instead of those on disk.

    Raises:
        SettingsError: a file cannot be read, or two have one name.
    """
    texts: dict[str, str] = {}
    for name, path in rule_set_paths(settings).items():
        if path is None:
            texts[name] = bundled_text(PurePath(name).stem)
        else:
            texts[name] = unsaved[path] if path in unsaved else rule_set_text(path)
    return texts


def with_rule_sets(settings: Settings, texts: Mapping[str, str]) -> dict[str, str]:
    """The texts, with rule sets exactly if the profile has some: their own, or the settings'. They
    may be from before the profile was changed, or from before a change held rule sets.

    Raises:
        SettingsError: a file cannot be read, or two have one name.
    """
    sets = rule_sets_of(texts)
    if not rule_set_names(settings.reasoning.profile):
        return {name: text for name, text in texts.items() if name not in sets}
    return {**texts, **(sets or read_rule_set_texts(settings))}


def compiled_rule_sets(settings: Settings, texts: Mapping[str, str]) -> RuleSet | None:
    """The rules of all rule sets among some texts; None: the profile has none.

    Raises:
        LanguageError: a text is no rule set, with the place.
    """
    if not rule_set_names(settings.reasoning.profile):
        return None
    paths = rule_set_paths(settings)
    sets = [
        _read(text, _origin(settings, paths, name)) for name, text in rule_sets_of(texts).items()
    ]
    return combined(sets)


def state_rules_of(
    settings: Settings,
    unsaved: Mapping[Path, str] = NOTHING_UNSAVED,
    texts: Mapping[str, str] | None = None,
) -> tuple[RuleFile, ...]:
    """The deleting rules of the profile's rule sets; none if there are :func:`rule_set_faults`."""
    try:
        check_profile(settings.reasoning.profile)
        found = read_rule_set_texts(settings, unsaved) if texts is None else texts
        rule_set = compiled_rule_sets(settings, found)
    except (SettingsError, LanguageError):
        return ()
    return () if rule_set is None else rule_set.state_rules


def rule_set_faults(
    settings: Settings,
    unsaved: Mapping[Path, str] = NOTHING_UNSAVED,
    texts: Mapping[str, str] | None = None,
) -> Iterator[SensorStreamError]:
    """The reasons why the rule sets of the profile cannot be used, a fault for each. Whether they
    have a result together depends on the ontology, which decides what feeds what. ``unsaved`` as in
    :func:`read_rule_set_texts`; ``texts`` count instead of all of them.
    """
    try:
        check_profile(settings.reasoning.profile)
        found = read_rule_set_texts(settings, unsaved) if texts is None else texts
    except SettingsError as error:
        yield error
        return
    for name, text in rule_sets_of(found).items():
        try:
            compiled_rule_sets(settings, {name: text})
        except LanguageError as error:
            yield error


def faults_of(
    file: Path, unsaved: Mapping[Path, str] = NOTHING_UNSAVED
) -> Iterator[SensorStreamError]:
    """The fault of a rule set by itself; ``unsaved`` as in :func:`read_rule_set_texts`."""
    try:
        _read(unsaved[file] if file in unsaved else rule_set_text(file), str(file))
    except (LanguageError, SettingsError) as error:
        yield error


def check_rule_sets(settings: Settings, texts: Mapping[str, str]) -> None:
    """Check that texts have rule sets exactly if the reasoner is one of rule sets.

    Raises:
        RulesError: they have not.
    """
    sets, profile = rule_sets_of(texts), settings.reasoning.profile
    if sets and not rule_set_names(profile):
        raise RulesError(
            f"{next(iter(sets))} is a rule set, and the reasoner is of the profile '{profile}', "
            f"which has none: {_OTHER.format('rule sets, such as owl2rl')}"
        )
    if not sets and rule_set_names(profile):
        raise RulesError(
            "no rule set would be left: expected at least one with the ending '.ru'; so that "
            f"nothing is inferred, {_OTHER.format('none')}"
        )


def _read(text: str, origin: str) -> RuleSet:
    try:
        return read(text, origin)
    except (QueryError, ProgramError) as error:
        raise LanguageError(error.message, position=error.position) from None


def _origin(settings: Settings, paths: Mapping[str, Path | None], name: str) -> str:
    if name in paths and paths[name] is None:
        return PurePath(name).stem
    return str(path_of(settings, name))


def _ended(name: str) -> str:
    return name if is_rule_set(PurePath(name)) else f"{name}{RULE_SET}"


_PREFIX: Final = re.compile(r"([^\W\d][\w.-]*):(?!:)")
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}\.(rules|ttl|turtle|xsl|xslt|ru)")


def rule_paths(settings: Settings) -> dict[str, Path]:
    """The files of ``rules.files``, by name, in their order. The name is the last part of the path;
    if several files have it, the path from the settings' folder on.
    """
    paths = settings.rules.files
    often = Counter(each.name for each in paths)
    return {
        each.name if often[each.name] == 1 else below(settings.folder, each): each for each in paths
    }


def read_texts(settings: Settings) -> dict[str, str]:
    """The text of each rule file, and of each rule set of the reasoner, by name.

    Raises:
        SettingsError: a file cannot be read, or is none of ``rules.files``.
    """
    for fault in misplaced(settings):
        raise fault
    texts = {name: text_of(path) for name, path in rule_paths(settings).items()}
    return {**texts, **read_rule_set_texts(settings)}


def misplaced(settings: Settings) -> Iterator[SettingsError]:
    """The files of ``rules.files`` that have their place elsewhere: queries, and rule sets."""
    for path in filter(is_rule_set, settings.rules.files):
        yield SettingsError(
            f"rules.files: {path} is a rule set of the reasoner: name it in reasoning.profile"
        )
    for path in filter(is_over_time, settings.rules.files):
        yield SettingsError(
            f"rules.files: {path} has rules over time, which run as continuous queries: move it "
            "into the folder 'queries' beside the settings; 'sensorstream apply' puts it in force"
        )


def parse_texts(settings: Settings, texts: Mapping[str, str]) -> list[RuleFile]:
    """Parse those texts of rule files that are in the rule language, in their order.

    Raises:
        LanguageError: a text is not in the rule language, or two rules share a name.
    """
    parsed = [
        parse(text, str(path_of(settings, name)))
        for name, text in texts.items()
        if is_rule_file(Path(name))
    ]
    for clash in same_names(parsed):
        raise clash
    return parsed


def path_of(settings: Settings, name: str) -> Path:
    """The place of a rule file, existing or not: tables that it names are read from there."""
    paths = {**rule_set_paths(settings), **rule_paths(settings)}
    return paths.get(name) or settings.folder / name


def mapping_paths(settings: Settings, texts: Mapping[str, str]) -> dict[Path, str]:
    """The texts that are no rule sets of the reasoner, by their paths."""
    sets = rule_sets_of(texts)
    return {path_of(settings, name): text for name, text in texts.items() if name not in sets}


def table_names(settings: Settings, tables: Mapping[Path, str]) -> dict[str, str]:
    """Texts of files that rules name, by paths from the settings' folder on: it can be moved."""
    return {below(settings.folder, path): text for path, text in tables.items()}


def table_paths(settings: Settings, tables: Mapping[str, str]) -> dict[Path, str]:
    """The opposite of :func:`table_names`."""
    return {(settings.folder / name).resolve(): text for name, text in tables.items()}


def key_prefixes(settings: Settings, texts: Mapping[str, str]) -> dict[str, str]:
    """The prefixes of rule files, which the XPath of ``pipeline.key`` may use.

    Raises:
        LanguageError: a text is not in the rule language.
    """
    files = parse_texts(settings, texts)
    return {each.name: each.iri for file in files for each in file.prefixes if each.name}


def check_key(settings: Settings, now: Mapping[str, str], texts: Mapping[str, str]) -> None:
    """Check that the prefixes of the keys of a pipeline mean in other texts what they mean now: a
    message would go to another engine than the ones before it.

    Raises:
        RulesError: one does not.
        LanguageError: a text is not in the rule language.
    """
    own = settings.pipeline.key if settings.pipeline.runner == "spark" else ""
    used = [("pipeline.key", own, name) for name in _PREFIX.findall(own)]
    heads = [each.head for each in settings.stages if ":" in each.head.key]
    used += [(f"pipeline.stages.{h.name}.key", h.key, h.key.partition(":")[0]) for h in heads]
    if not used:
        return
    before, after = (
        {each.name: each.iri for file in parse_texts(settings, of) for each in file.prefixes}
        for of in (now, texts)
    )
    for place, key, name in used:
        if before.get(name) != after.get(name):
            raise RulesError(
                f"{place} is '{key}', and the prefix '{name}' would stand for "
                f"{after.get(name, 'nothing')}: expected {before.get(name, 'nothing')}, as now"
            )


def checked_name(name: str) -> str:
    """The name itself, if a new rule file can have it.

    Raises:
        RulesError: no rule file can have this name.
    """
    if is_over_time(Path(name)):
        raise RulesError(
            f"'{name[:60]}': rules over time run as continuous queries and are put one by one, "
            f"with the Datalog rules that they need before them: PUT /rules/NAME.dotr, or "
            "queries/NAME.dotr in the folder of 'sensorstream apply'"
        )
    if not _NAME.fullmatch(name):
        raise RulesError(
            f"'{name[:60]}' is not a name of a rule file: expected letters, digits, '_', '-' and "
            "'.', and the end '.rules' (in the rule language), '.ttl' (RML), '.xsl' (XSLT) or "
            "'.ru' (a rule set of the reasoner)"
        )
    return name


def check_named(settings: Settings, texts: Mapping[str, str], library: Library) -> None:
    """Check that the files named by rules that were sent lie in the deployment's folder, and that
    tables are CSV files by their names. ``library`` has the functions that RML may name.

    Raises:
        LanguageError: a file lies elsewhere: it might be any file of this machine. Or a text cannot
            be read.
    """
    for name, text in texts.items():
        path = path_of(settings, name)
        if is_rml(path):
            check_sources(path, text, settings.folder, settings.rules.base, library)
        elif is_rule_file(path):
            tree, _ = parse_with_recovery(text, str(path))
            if tree is not None:
                _check_tables(settings.folder, tree)


def _check_tables(folder: Path, file: RuleFile) -> None:
    for table in file.tables:
        path = (Path(file.file).parent / table.path).resolve()
        # The folder holds secrets, too.
        if not path.is_relative_to(folder.resolve()) or path.suffix.lower() != TABLE_SUFFIX:
            raise LanguageError(
                f"table {table.name}: {table.path} is not a file of the deployment's folder whose "
                f"name ends with '{TABLE_SUFFIX}': rules that are sent may only name such tables",
                position=table.position,
            )
