"""The language server (Language Server Protocol 3.17), on pygls; it finds what ``check`` finds."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any, Final, Protocol

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

from sensorstream.app.control.deployment_folder import check_query_files
from sensorstream.app.control.file_faults import deployment_notes, faults
from sensorstream.app.control.file_texts import is_over_time, is_query_file, is_rule_set
from sensorstream.app.control.mapping_files import is_rule_file
from sensorstream.app.control.rule_files import faults_of
from sensorstream.cli.editor.call_help import call_help
from sensorstream.cli.editor.completion import MOST, completions, hover
from sensorstream.cli.editor.name_places import (
    EVERYWHERE,
    definition,
    place_at,
    places_of,
    renamable,
    renaming,
)
from sensorstream.cli.editor.open_document import (
    OpenDocument,
    SourceText,
    Span,
    symbols,
    symbols_of_rule_set,
    symbols_over_time,
)
from sensorstream.cli.editor.open_files import (
    EditedDeployment,
    EditedOntologies,
    OpenFiles,
    deployment_of,
    path_of,
)
from sensorstream.cli.editor.quick_fixes import quick_fixes
from sensorstream.errors import LanguageError, Position, SensorStreamError
from sensorstream.language.rule_layout import format_rules
from sensorstream.language.rule_parser import parse
from sensorstream.model.frozen import frozen
from sensorstream.reasoning.profiles import DESCRIPTION_LOGIC
from sensorstream.rules.rule_compiler import compile_rules


@frozen
class Diagnostic:
    """A fault, or a note, which is no fault but worth knowing."""

    position: Position
    code: str
    message: str
    is_fault: bool = True


def diagnostics(
    file: Path, unsaved: Mapping[Path, str], ontologies: EditedOntologies
) -> dict[Path, list[Diagnostic]]:
    """The diagnostics of a file, and of all rule files of its deployment, by file, also of files
    without any; ``unsaved`` are texts that count instead of those on disk.
    """
    deployment = deployment_of(file)
    if is_query_file(file):
        return {file: list(_of_query(file, unsaved, deployment, ontologies))}
    if is_rule_set(file):
        return {file: [_fault(each, file) for each in faults_of(file, unsaved)]}
    settings = deployment.settings
    found: dict[Path, list[Diagnostic]] = {
        path: [] for path in settings.rules.files if is_rule_file(path)
    }
    for each in _of_rules(deployment, unsaved, ontologies):
        found.setdefault(Path(each.position.file), []).append(each)
    if deployment.fault is not None:
        fault = _fault(deployment.fault, settings.path)
        found.setdefault(Path(fault.position.file), []).append(fault)
    elif not deployment.is_part and settings.path.is_file():
        text = f"{settings.path.name} does not name this file in rules.files: checked by itself"
        note = Diagnostic(Position(str(file), 1, 1), "not-in-settings", text, is_fault=False)
        found[file].append(note)
    return found


def _of_rules(
    deployment: EditedDeployment, unsaved: Mapping[Path, str], ontologies: EditedOntologies
) -> Iterator[Diagnostic]:
    settings = deployment.settings
    found = list(faults(settings, unsaved, ontologies.load))
    yield from (_fault(error, settings.path) for error in found)
    if found:
        return
    ontology = ontologies.load(settings.ontology)
    files = [
        parse(unsaved[path] if path in unsaved else path.read_text("utf-8"), str(path))
        for path in settings.rules.files
        if is_rule_file(path)
    ]
    rules = compile_rules(files, ontology.schema, settings.time.timeline)
    for note in deployment_notes(settings, files, ontology, rules):
        yield Diagnostic(note.position, note.code, note.text, is_fault=False)


def _of_query(
    file: Path,
    unsaved: Mapping[Path, str],
    deployment: EditedDeployment,
    ontologies: EditedOntologies,
) -> Iterator[Diagnostic]:
    settings = deployment.settings
    line = settings.time.line if settings.path.is_file() else "datetime"
    schema = ontologies.names(settings.ontology).schema
    by_names = settings.path.is_file() and settings.reasoning.profile in DESCRIPTION_LOGIC
    found = check_query_files([file], schema, line, unsaved, names_only=by_names)
    yield from (_fault(each, file) for each in found.faults)
    for note in found.notes:
        yield Diagnostic(note.position, note.code, note.text, is_fault=False)


def _fault(error: SensorStreamError, settings: Path) -> Diagnostic:
    """The diagnostic of a fault; without a place it belongs to the settings as a whole."""
    position = error.position or Position(str(settings), 1, 1)
    return Diagnostic(position, error.code, error.message)


_PAUSE: Final = 0.2
"""Seconds without a change before the files are checked."""

_TRIGGERS: Final = ["{", "/", "@", "$", "?", ":", "[", " "]
_WATCHED: Final = "**/*.{rules,rq,ru,dotr,dlog,toml,ttl,nt,rdf,owl,owx,csv,py,xml,xsl}"

_log = logging.getLogger(__name__)


class Checks:
    """Checks files after a pause, one after the other, in a thread; says what it found."""

    def __init__(self, server: LanguageServer, files: OpenFiles) -> None:
        self._server = server
        self._files = files
        self._waiting: dict[Path, None] = {}
        self._changes = 0
        self._task: asyncio.Task[None] | None = None
        self._published: dict[Path, set[Path]] = {}

    def want(self, *paths: Path) -> None:
        """Check these files soon; changes until then count."""
        self._changes += 1
        self._waiting.update(dict.fromkeys(paths))
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def _run(self) -> None:
        while self._waiting:
            seen = -1
            while seen != self._changes:
                seen = self._changes
                await asyncio.sleep(_PAUSE)
            path = next(iter(self._waiting))
            del self._waiting[path]
            await self._check(path)

    async def _check(self, path: Path) -> None:
        unsaved = self._files.unsaved()
        if path not in unsaved and not path.is_file():
            self._publish(path, {})
            return
        found = await asyncio.to_thread(self._found, path, unsaved)
        if path not in self._waiting:  # else the text is another one already
            self._publish(path, found)

    def _found(self, path: Path, unsaved: dict[Path, str]) -> dict[Path, list[Diagnostic]]:
        if (is_query_file(path) or is_rule_set(path)) and path not in unsaved:
            return {}
        try:
            return diagnostics(path, unsaved, self._files.ontologies)
        except Exception as error:  # a defect must not end the server
            _log.exception("the check of %s failed", path)
            text = f"the check failed: {type(error).__name__}: {error}"
            return {path: [Diagnostic(Position(str(path), 1, 1), "internal", text)]}

    def _publish(self, path: Path, found: dict[Path, list[Diagnostic]]) -> None:
        gone = self._published.get(path, set()) - set(found)
        self._published[path] = set(found)
        for file in (*found, *gone):
            source = self._files.source(file)
            shown = [_diagnostic(source, each) for each in found.get(file, ())]
            self._server.text_document_publish_diagnostics(
                types.PublishDiagnosticsParams(uri=self._files.uri(file), diagnostics=shown)
            )


def make_server() -> LanguageServer:
    """The server, which is then started with ``start_io``."""
    server = LanguageServer(
        "sensorstream",
        metadata.version("sensorstream"),
        # Whole texts, so that only the protocol says how lines end.
        text_document_sync_kind=types.TextDocumentSyncKind.Full,
    )
    files = OpenFiles()
    _follow_files(server, files)
    for method in _ANSWERS:
        _answer(server, files, method)
    return server


def _follow_files(server: LanguageServer, files: OpenFiles) -> None:
    checks = Checks(server, files)

    @server.feature(types.INITIALIZED)
    async def initialized(_: types.InitializedParams) -> None:
        workspace = server.client_capabilities.workspace
        watched = workspace and workspace.did_change_watched_files
        if not (watched and watched.dynamic_registration):
            return
        watcher = types.FileSystemWatcher(glob_pattern=_WATCHED)
        options = types.DidChangeWatchedFilesRegistrationOptions(watchers=[watcher])
        method = types.WORKSPACE_DID_CHANGE_WATCHED_FILES
        registration = types.Registration(id=method, method=method, register_options=options)
        await server.client_register_capability_async(
            types.RegistrationParams(registrations=[registration])
        )

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    async def opened(params: types.DidOpenTextDocumentParams) -> None:
        checks.want(files.put(params.text_document.uri, params.text_document.text))

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(params: types.DidChangeTextDocumentParams) -> None:
        uri = params.text_document.uri
        checks.want(files.put(uri, server.workspace.get_text_document(uri).source))

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    async def saved(_: types.DidSaveTextDocumentParams) -> None:
        checks.want(*files.unsaved())

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    async def closed(params: types.DidCloseTextDocumentParams) -> None:
        checks.want(files.close(params.text_document.uri))

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    async def changed_on_disk(_: types.DidChangeWatchedFilesParams) -> None:
        checks.want(*files.unsaved())


class _PlaceParams(Protocol):
    """The file and the place that a question is about."""

    @property
    def text_document(self) -> types.TextDocumentIdentifier: ...
    @property
    def position(self) -> types.Position: ...


def _at(files: OpenFiles, params: _PlaceParams) -> tuple[OpenDocument, int] | None:
    """The open file that is asked about, and the offset of the place in it."""
    document = files.document(params.text_document.uri)
    if document is None:
        return None
    place = params.position
    return document, document.source.offset(place.line, place.character)


def _complete(files: OpenFiles, params: types.CompletionParams) -> types.CompletionList:
    asked = _at(files, params)
    if asked is None:
        return types.CompletionList(is_incomplete=False, items=[])
    document, offset = asked
    found = completions(document, offset)
    items = [
        types.CompletionItem(
            label=each.text,
            kind=each.sort.value,
            detail=each.detail or None,
            documentation=each.documentation or None,
            filter_text=each.text,
            sort_text=f"{number:04}",
            text_edit=types.TextEdit(_range(document.source, each.span), each.text),
        )
        for number, each in enumerate(found)
    ]
    return types.CompletionList(is_incomplete=len(found) == MOST, items=items)


def _hover(files: OpenFiles, params: types.HoverParams) -> types.Hover | None:
    asked = _at(files, params)
    found = None if asked is None else hover(*asked)
    if asked is None or found is None:
        return None
    content = types.MarkupContent(types.MarkupKind.Markdown, found.text)
    return types.Hover(content, _range(asked[0].source, found.span))


def _define(files: OpenFiles, params: types.DefinitionParams) -> types.Location | None:
    asked = _at(files, params)
    found = None if asked is None else definition(*asked)
    if asked is None or found is None:
        return None
    return types.Location(params.text_document.uri, _range(asked[0].source, found))


def _refer(files: OpenFiles, params: types.ReferenceParams) -> list[types.Location]:
    asked = _at(files, params)
    place = None if asked is None else place_at(*asked)
    if asked is None or place is None:
        return []
    documents = files.related(asked[0]) if place.scope == EVERYWHERE else asked[:1]
    return [
        types.Location(files.uri(document.path), _range(document.source, each.whole))
        for document in documents
        for each in places_of(document, place)
        if params.context.include_declaration or not each.is_declared
    ]


def _may_rename(
    files: OpenFiles, params: types.PrepareRenameParams
) -> types.PrepareRenameResult | None:
    asked = _at(files, params)
    if asked is None:
        return None
    place = renamable(*asked)
    word = asked[0].text[slice(*place.span)]
    return types.PrepareRenamePlaceholder(_range(asked[0].source, place.span), word)


def _rename(files: OpenFiles, params: types.RenameParams) -> types.WorkspaceEdit | None:
    asked = _at(files, params)
    if asked is None:
        return None
    name, spans = renaming(*asked, params.new_name)
    edits = [types.TextEdit(_range(asked[0].source, each), name) for each in spans]
    return types.WorkspaceEdit(changes={params.text_document.uri: edits})


def _fix(files: OpenFiles, params: types.CodeActionParams) -> list[types.CodeAction]:
    document = files.document(params.text_document.uri)
    if document is None:
        return []
    source, uri, made = document.source, params.text_document.uri, []
    for each in params.context.diagnostics:
        start, end = (
            source.offset(at.line, at.character) for at in (each.range.start, each.range.end)
        )
        for fix in quick_fixes(document, each.message, Span(start, end), files.related(document)):
            edit = types.TextEdit(_range(source, fix.span), fix.text)
            made.append(
                types.CodeAction(
                    title=fix.title,
                    kind=types.CodeActionKind.QuickFix,
                    diagnostics=[each],
                    edit=types.WorkspaceEdit(changes={uri: [edit]}),
                )
            )
    return made


def _sign(files: OpenFiles, params: types.SignatureHelpParams) -> types.SignatureHelp | None:
    asked = _at(files, params)
    found = None if asked is None else call_help(*asked)
    if found is None:
        return None
    parameters = [types.ParameterInformation((start, end)) for start, end in found.parameters]
    shown = types.SignatureInformation(found.label, found.meaning or None, parameters)
    return types.SignatureHelp([shown], 0, found.active)


def _format(
    files: OpenFiles, params: types.DocumentFormattingParams
) -> list[types.TextEdit] | None:
    path = path_of(params.text_document.uri)
    source = files.source(path)
    if is_query_file(path) or is_rule_set(path):
        return None
    try:
        text = format_rules(source.text, str(path))
    except LanguageError:  # its diagnostic says what and where
        return None
    if text == source.text:
        return []
    return [types.TextEdit(_range(source, Span(0, len(source.text))), text)]


def _outline(files: OpenFiles, params: types.DocumentSymbolParams) -> list[types.DocumentSymbol]:
    path = path_of(params.text_document.uri)
    source = files.source(path)
    if is_over_time(path):
        found = symbols_over_time(source.text)
    elif is_rule_set(path):
        found = [each for each in symbols_of_rule_set(source.text) if each.name]
    else:
        found = [] if is_query_file(path) else symbols(source.text)
    kinds = {"mapping": types.SymbolKind.Function, "rule": types.SymbolKind.Event}
    return [
        types.DocumentSymbol(
            name=each.name,
            detail=each.kind,
            kind=kinds[each.kind],
            range=_range(source, each.whole),
            selection_range=_range(source, each.name_at),
        )
        for each in found
    ]


_ANSWERS: Final[Mapping[str, Callable[[OpenFiles, Any], object]]] = {
    types.TEXT_DOCUMENT_COMPLETION: _complete,
    types.TEXT_DOCUMENT_HOVER: _hover,
    types.TEXT_DOCUMENT_DEFINITION: _define,
    types.TEXT_DOCUMENT_REFERENCES: _refer,
    types.TEXT_DOCUMENT_PREPARE_RENAME: _may_rename,
    types.TEXT_DOCUMENT_RENAME: _rename,
    types.TEXT_DOCUMENT_CODE_ACTION: _fix,
    types.TEXT_DOCUMENT_SIGNATURE_HELP: _sign,
    types.TEXT_DOCUMENT_FORMATTING: _format,
    types.TEXT_DOCUMENT_DOCUMENT_SYMBOL: _outline,
}
_OPTIONS: Final[Mapping[str, Any]] = {
    types.TEXT_DOCUMENT_COMPLETION: types.CompletionOptions(trigger_characters=_TRIGGERS),
    types.TEXT_DOCUMENT_RENAME: types.RenameOptions(prepare_provider=True),
    types.TEXT_DOCUMENT_CODE_ACTION: types.CodeActionOptions([types.CodeActionKind.QuickFix]),
    types.TEXT_DOCUMENT_SIGNATURE_HELP: types.SignatureHelpOptions(["(", ",", " "]),
}


def _answer(server: LanguageServer, files: OpenFiles, method: str) -> None:
    answer = _ANSWERS[method]

    # In threads, because ontologies and samples may be large.
    @server.feature(method, _OPTIONS.get(method))
    @server.thread()
    def answered(params: Any) -> object:
        try:
            return answer(files, params)
        except LanguageError as refused:  # editors show why a name is not renamed
            code = types.LSPErrorCodes.RequestFailed
            raise JsonRpcException(refused.message, code) from None


def _diagnostic(source: SourceText, found: Diagnostic) -> types.Diagnostic:
    severity = types.DiagnosticSeverity
    start = source.offset_of(found.position)
    return types.Diagnostic(
        range=_range(source, source.word_at(start)),
        message=found.message,
        severity=severity.Error if found.is_fault else severity.Information,
        code=found.code,
        source="sensorstream",
    )


def _range(source: SourceText, span: Span) -> types.Range:
    start, end = source.place(span.start), source.place(span.end)
    return types.Range(types.Position(*start), types.Position(*end))
