"""The rule sets of a deployment's reasoner as texts with names, so that they can be changed.

They are those of ``reasoning.profile``, beside the rule files. One that comes along has the name
``owl2rl.ru``, one of a file that of the file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import Final

from sensorstream.app.file_kinds import RULE_SET, is_rule_set
from sensorstream.app.file_texts import below
from sensorstream.errors import (
    LanguageError,
    ProgramError,
    QueryError,
    RulesError,
    SensorStreamError,
    SettingsError,
)
from sensorstream.language.syntax import RuleFile
from sensorstream.reasoning.profiles import check_profile, rule_set_names, text_of
from sensorstream.reasoning.rulesets.reader import SUMMARIES, read
from sensorstream.reasoning.rulesets.reader import text_of as bundled_text
from sensorstream.reasoning.rulesets.rule_set import RuleSet, combined
from sensorstream.settings import Settings

_NOTHING_UNSAVED: Final[Mapping[Path, str]] = MappingProxyType({})
_OTHER: Final = "set reasoning.profile to {}, and start the server again"


def rule_sets_of(texts: Mapping[str, str]) -> dict[str, str]:
    """Those of some texts, by name, that are rule sets."""
    return {name: text for name, text in texts.items() if is_rule_set(PurePath(name))}


def rule_set_paths(settings: Settings) -> dict[str, Path | None]:
    """The rule sets of the profile by name, in their order; None: it comes along.

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
    settings: Settings, unsaved: Mapping[Path, str] = _NOTHING_UNSAVED
) -> dict[str, str]:
    """The text of each rule set of the profile, by name.

    ``unsaved`` are the texts of files that count instead of those on disk.

    Raises:
        SettingsError: a file cannot be read, or two have one name.
    """
    texts: dict[str, str] = {}
    for name, path in rule_set_paths(settings).items():
        if path is None:
            texts[name] = bundled_text(PurePath(name).stem)
        else:
            texts[name] = unsaved[path] if path in unsaved else text_of(path)
    return texts


def with_rule_sets(settings: Settings, texts: Mapping[str, str]) -> dict[str, str]:
    """The texts, with rule sets exactly if the profile has some: those of the settings, if need be.

    They may be from before the profile was changed, or from before a change held rule sets.

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
    unsaved: Mapping[Path, str] = _NOTHING_UNSAVED,
    texts: Mapping[str, str] | None = None,
) -> tuple[RuleFile, ...]:
    """The rules that delete of the profile's rule sets; none where :func:`rule_set_faults` are."""
    try:
        check_profile(settings.reasoning.profile)
        found = read_rule_set_texts(settings, unsaved) if texts is None else texts
        rule_set = compiled_rule_sets(settings, found)
    except (SettingsError, LanguageError):
        return ()
    return () if rule_set is None else rule_set.state_rules


def rule_set_faults(
    settings: Settings,
    unsaved: Mapping[Path, str] = _NOTHING_UNSAVED,
    texts: Mapping[str, str] | None = None,
) -> Iterator[SensorStreamError]:
    """Why the rule sets of the profile cannot be used, a fault for each.

    Whether they have a result together depends on the ontology, which decides what feeds what.

    ``unsaved`` as in :func:`read_rule_set_texts`; ``texts`` count instead of all of them.
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
    file: Path, unsaved: Mapping[Path, str] = _NOTHING_UNSAVED
) -> Iterator[SensorStreamError]:
    """Why a rule set cannot be used by itself; ``unsaved`` as in :func:`read_rule_set_texts`."""
    try:
        _read(unsaved[file] if file in unsaved else text_of(file), str(file))
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
    if name in paths:
        path = paths[name]
        return PurePath(name).stem if path is None else str(path)
    return str(settings.folder / name)


def _ended(name: str) -> str:
    return name if is_rule_set(PurePath(name)) else f"{name}{RULE_SET}"
