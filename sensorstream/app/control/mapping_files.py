"""Mapping files in other languages than the rule language, and what mapping rules refer to."""

from __future__ import annotations

import inspect
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from types import FunctionType, ModuleType
from typing import Final, TypeAlias

from sensorstream.app.control.file_texts import RULE_SET, FileContents, FileTexts
from sensorstream.errors import (
    LanguageError,
    MalformedMessage,
    Position,
    SensorStreamError,
    SettingsError,
)
from sensorstream.language.syntax import LookupTable, RuleFile
from sensorstream.mapping.functions.function_definition import NO_LIBRARY, Definition, Library
from sensorstream.mapping.functions.function_registry import builtins
from sensorstream.mapping.functions.own_functions import own_function
from sensorstream.mapping.mapping_plan import MappingPlan, PlannedRule
from sensorstream.mapping.reference_data import ReferenceData, parse_table, reference_data
from sensorstream.mapping.rml import Surroundings, compile_maps, compile_rml, joined_files, read_rml
from sensorstream.mapping.rml.rml_check import faults as rml_faults
from sensorstream.mapping.rml.rml_model import LogicalSource, RmlMapping
from sensorstream.mapping.stylesheet import read_stylesheet
from sensorstream.mapping.xml_document import Document, parse_document
from sensorstream.mapping.xslt import compile_stylesheet
from sensorstream.model.frozen import field, frozen, replace
from sensorstream.model.schema import Schema
from sensorstream.model.terms import Triple
from sensorstream.model.timeline import Timeline


def read_functions(
    files: Sequence[Path], contents: FileContents | None = None
) -> tuple[dict[str, Definition], list[SensorStreamError]]:
    """The functions of some files by name, and the faults of those that are left out. A file's
    functions are those that it defines itself, at its top level, with a name that does not begin
    with ``_``. Reading a file runs it.
    """
    contents = FileContents() if contents is None else contents
    found: dict[str, Definition] = {}
    faults: list[SensorStreamError] = []
    for file in files:
        try:
            functions = _functions(_imported(file, contents))
        except SensorStreamError as error:
            faults.append(error)
            continue
        for name, function in functions:
            place = Position(str(file), inspect.unwrap(function).__code__.co_firstlineno, 1)
            try:
                if name in builtins():
                    raise _taken(name, "is built in", place)
                if name in found:
                    raise _taken(name, f"is defined at {found[name].position}", place)
                found[name] = own_function(name, function, place)
            except LanguageError as error:
                faults.append(error)
    return found, faults


def _taken(name: str, why: str, place: Position) -> LanguageError:
    return LanguageError(f"function {name}: {name} {why}: expected another name", position=place)


def _functions(module: ModuleType) -> Iterator[tuple[str, Callable[..., object]]]:
    for name, each in vars(module).items():
        # functools.cache and other decorators wrap a function.
        function = isinstance(each, FunctionType) or hasattr(each, "__wrapped__")
        own = function and each.__module__ == module.__name__
        if own and not name.startswith("_"):
            yield name, each


def _imported(file: Path, contents: FileContents) -> ModuleType:
    try:
        content = contents[file]
    except OSError as error:
        raise SettingsError(f"functions.files: cannot read {file}: {error}") from None
    module = ModuleType(f"sensorstream functions {file}")
    module.__file__ = str(file)
    # A dataclass looks up the module of its class there.
    sys.modules[module.__name__] = module
    try:
        # No bytecode is kept, which could be that of an earlier text of the same second.
        exec(compile(content, str(file), "exec"), vars(module))
    except SyntaxError as error:
        inside = error.filename == str(file)
        line, column = (error.lineno, error.offset) if inside else (_line(file, error), 1)
        raise LanguageError(
            f"not Python: {error.msg}", position=Position(str(file), line or 1, column or 1)
        ) from None
    except (Exception, SystemExit) as error:
        raise LanguageError(
            f"the file cannot be imported: {type(error).__name__}: {error}",
            position=Position(str(file), _line(file, error), 1),
        ) from None
    return module


def _line(file: Path, error: BaseException) -> int:
    """The line of a file at which an error came up."""
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == str(file)
    ]
    return (lines[-1] if lines else None) or 1


Functions: TypeAlias = Sequence[Path] | Mapping[str, Definition]


def read_reference(
    files: Sequence[RuleFile],
    triples: Iterable[Triple],
    functions: Functions = (),
    tables: Mapping[Path, str] | None = None,
    contents: FileContents | None = None,
    faults: list[SensorStreamError] | None = None,
) -> ReferenceData:
    """The lookup tables of rule files, the functions of Python files, an ontology's individuals.
    ``functions`` are those files, or functions that were read from them before. ``tables`` are
    texts that count instead of those on disk; see :func:`read_tables`. ``faults`` takes what would
    be raised: faulty functions are left out then, and faulty tables are empty.

    Raises:
        LanguageError: a table or a function cannot be read; it has the position of its declaration.
        SettingsError: a Python file cannot be read.
    """
    parsed: dict[str, dict[str, Mapping[str, str]]] = {}
    own: Mapping[str, Definition]
    found: list[SensorStreamError] = []
    if isinstance(functions, Mapping):
        own = functions
    else:
        own, found = read_functions(functions, contents)
    for file in files:
        for table in file.tables:
            try:
                text = _table_text(file, table) if tables is None else _given(file, table, tables)
                read = parse_table(table, text)
            except LanguageError as error:
                found.append(error)
                read = {}
            parsed.setdefault(file.file, {})[table.name] = read
    if found and faults is None:
        raise found[0]
    if faults is not None:
        faults += found
    return reference_data(parsed, triples, own)


def read_tables(files: Sequence[RuleFile]) -> dict[Path, str]:
    """The text of each table that rule files name, by its path.

    Raises:
        LanguageError: a table cannot be read; it has the position of its declaration.
    """
    return {
        _table_path(file, table): _table_text(file, table)
        for file in files
        for table in file.tables
    }


def _table_path(file: RuleFile, table: LookupTable) -> Path:
    return (Path(file.file).parent / table.path).resolve()


def _given(file: RuleFile, table: LookupTable, tables: Mapping[Path, str]) -> str:
    text = tables.get(_table_path(file, table))
    if text is None:
        raise LanguageError(
            f"table {table.name}: {table.path} is not among the tables put with the rules",
            position=table.position,
        )
    return text


def _table_text(file: RuleFile, table: LookupTable) -> str:
    path = _table_path(file, table)
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise LanguageError(
            f"table {table.name}: cannot read {path}: {error}", position=table.position
        ) from None


RULES_TYPE: Final = "text/plain"
RML_TYPE: Final = "text/turtle"
STYLESHEET_TYPE: Final = "application/xslt+xml"
RULE_SET_TYPE: Final = "application/sparql-update"
_BY_ENDING: Final = {
    **dict.fromkeys((".ttl", ".turtle"), RML_TYPE),
    **dict.fromkeys((".xsl", ".xslt"), STYLESHEET_TYPE),
    RULE_SET: RULE_SET_TYPE,
}
_MAX_DEPTH: Final = 256
"""How deep files may be nested: what libxml2 allows."""


def is_rule_file(file: Path) -> bool:
    """Whether a file is in the rule language, by its name."""
    return type_of(file.name) == RULES_TYPE


def type_of(file: str) -> str:
    """The media type of a file of rules, RML or XSLT, or of a rule set, by its name."""
    return _BY_ENDING.get(PurePath(file).suffix.lower(), RULES_TYPE)


@frozen
class MappingFiles:
    """The RML files and stylesheets among some files, and what they are compiled with.

    ``base`` completes the IRIs that RML makes from values, ``library`` holds the functions that RML
    may name. ``texts`` are those of the files. ``seconds`` is how long a stylesheet may take; see
    :func:`.compile_stylesheet`.
    """

    files: Sequence[Path]
    schema: Schema
    timeline: Timeline
    base: str = ""
    library: Library = NO_LIBRARY
    texts: FileTexts = field(default_factory=FileTexts)
    seconds: float | None = None

    def added_to(self, plan: MappingPlan, rules: Sequence[RuleFile]) -> MappingPlan:
        """Add their rules to the plan of rule files.

        Raises:
            LanguageError: a file cannot be compiled, or two rules share a name.
            SettingsError: a file cannot be read.
        """
        added: list[PlannedRule] = []
        for file in self._own():
            compiled = self._compiled(file)
            for clash in _clashes(file, compiled, rules, added):
                raise clash
            added += compiled
        return replace(plan, rules=plan.rules + tuple(added))

    def single_maps(self) -> tuple[PlannedRule, ...]:
        """Compile each triples map and each stylesheet as a separate rule, to report its results.

        Raises:
            LanguageError: a file cannot be compiled.
            SettingsError: a file cannot be read.
        """
        found: list[PlannedRule] = []
        for file in self._own():
            if is_rml(file):
                mapping = self._read(file)
                found += compile_maps(mapping, self.timeline, self._surroundings(mapping, file))
            else:
                found += self._compiled(file)
        return tuple(found)

    def faults(self, rules: Sequence[RuleFile]) -> Iterator[SensorStreamError]:
        """The errors that :meth:`added_to` would raise."""
        added: list[PlannedRule] = []
        for file in self._own():
            try:
                found: list[LanguageError] = []
                if is_rml(file):
                    mapping = self._read(file)
                    found = [*rml_faults(mapping, self.schema, self.library)]
                    found += self._absent(mapping, file)
                yield from found
                if not found:
                    compiled = self._compiled(file)
                    yield from _clashes(file, compiled, rules, added)
                    added += compiled
            except SensorStreamError as error:
                yield error

    def _own(self) -> Iterator[Path]:
        return (file for file in self.files if not is_rule_file(file))

    def _read(self, file: Path) -> RmlMapping:
        return read_rml(self.texts.text(file), str(file), self.base, self.library)

    def _compiled(self, file: Path) -> tuple[PlannedRule, ...]:
        if is_rml(file):
            mapping = self._read(file)
            for fault in self._absent(mapping, file):
                raise fault
            around = self._surroundings(mapping, file)
            return compile_rml([mapping], self.schema, self.timeline, around)
        stylesheet = read_stylesheet(self.texts.text(file).encode(), str(file))
        return (compile_stylesheet(stylesheet, self.timeline, self.seconds),)

    def _absent(self, mapping: RmlMapping, file: Path) -> Iterator[LanguageError]:
        """Files that the mapping names as sources, and that are not there."""
        for each in mapping.maps:
            path = _path(each.source, file)
            if path is not None and not self.texts.there(path):
                yield LanguageError(
                    f"triples map <{each.key}>: rml:source '{each.source.name}': there is no such "
                    f"file in {path.parent}: expected a file (a sample of the messages, or what "
                    "they are joined with), or no rml:source",
                    position=each.position,
                )

    def _surroundings(self, mapping: RmlMapping, file: Path) -> Surroundings:
        """The functions, and the files that messages are joined with."""
        found: dict[str, Document] = {}
        for source in joined_files(mapping):
            path = _path(source, file)
            assert path is not None, "the reader refuses joins with sources that are no files"
            text = self.texts.text(path).encode()
            try:
                found[source.name] = parse_document(text, max_depth=_MAX_DEPTH)
            except MalformedMessage as error:
                told = f"{path}, joined by {file}: {error.message}"
                raise SettingsError(f"rules.files: {told}") from None
        return Surroundings(self.library, found)


def check_sources(
    file: Path, text: str, folder: Path, base: str = "", library: Library = NO_LIBRARY
) -> None:
    """Check that the files that an RML file names as sources lie in a folder.

    Raises:
        LanguageError: one does not, or the text cannot be read.
    """
    for each in read_rml(text, str(file), base, library).maps:
        path = _path(each.source, file)
        if path is not None and not path.resolve().is_relative_to(folder.resolve()):
            raise LanguageError(
                f"triples map <{each.key}>: rml:source '{each.source.name}' is not a file of the "
                "deployment's folder: rules that are sent may only name files there",
                position=each.position,
            )


def _path(source: LogicalSource, file: Path) -> Path | None:
    """The path of a source that is a file; None if it is no file."""
    if source.root is None:
        return None
    return (file.parent if source.root == "mapping" else Path.cwd()) / source.name


def is_rml(file: Path) -> bool:
    """Whether a file is RML, by its name."""
    return type_of(file.name) == RML_TYPE


def _clashes(
    file: Path,
    compiled: Iterable[PlannedRule],
    rules: Sequence[RuleFile],
    added: Iterable[PlannedRule],
) -> Iterator[LanguageError]:
    taken = {rule.name for each in rules for rule in each.rules} | {rule.name for rule in added}
    for rule in compiled:
        if rule.name in taken:
            yield LanguageError(
                f"there is a rule '{rule.name}' already: expected another name",
                position=Position(str(file), 1, 1),
            )
