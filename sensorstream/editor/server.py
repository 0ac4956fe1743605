"""The language server (Language Server Protocol 3.17), on pygls."""

from __future__ import annotations

import asyncio
import logging
from importlib import metadata
from pathlib import Path
from typing import Final

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from sensorstream.app.control.file_texts import is_over_time, is_query_file, is_rule_set
from sensorstream.editor import completion, hover, symbols
from sensorstream.editor.completion import Sort, completions
from sensorstream.editor.diagnostics import Diagnostic, diagnostics
from sensorstream.editor.open_files import OpenFiles, path_of
from sensorstream.editor.text import SourceText, Span
from sensorstream.errors import LanguageError, Position
from sensorstream.language.layout import format_rules

_PAUSE: Final = 0.2
"""Seconds without a change before the files are checked."""

_KINDS: Final = {
    Sort.KEYWORD: types.CompletionItemKind.Keyword,
    Sort.CLASS: types.CompletionItemKind.Class,
    Sort.PROPERTY: types.CompletionItemKind.Property,
    Sort.INDIVIDUAL: types.CompletionItemKind.Value,
    Sort.PREFIX: types.CompletionItemKind.Module,
    Sort.FUNCTION: types.CompletionItemKind.Function,
    Sort.VARIABLE: types.CompletionItemKind.Variable,
    Sort.ELEMENT: types.CompletionItemKind.Field,
    Sort.ATTRIBUTE: types.CompletionItemKind.Field,
    Sort.VALUE: types.CompletionItemKind.Constant,
}
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
        # Whole texts: what ends a line is then only what the protocol says.
        text_document_sync_kind=types.TextDocumentSyncKind.Full,
    )
    files = OpenFiles()
    _follow_files(server, files)
    _answer(server, files)
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


def _answer(server: LanguageServer, files: OpenFiles) -> None:
    # Ontologies and samples may be large: the answers are made in threads.

    @server.feature(
        types.TEXT_DOCUMENT_COMPLETION,
        types.CompletionOptions(trigger_characters=_TRIGGERS),
    )
    @server.thread()
    def complete(params: types.CompletionParams) -> types.CompletionList:
        document = files.document(params.text_document.uri)
        if document is None:
            return types.CompletionList(is_incomplete=False, items=[])
        offset = document.source.offset(params.position.line, params.position.character)
        found = completions(document, offset)
        items = [
            types.CompletionItem(
                label=each.text,
                kind=_KINDS[each.sort],
                detail=each.detail or None,
                documentation=each.documentation or None,
                filter_text=each.text,
                sort_text=f"{number:04}",
                text_edit=types.TextEdit(_range(document.source, each.span), each.text),
            )
            for number, each in enumerate(found)
        ]
        return types.CompletionList(is_incomplete=len(found) == completion.MOST, items=items)

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    @server.thread()
    def hovered(params: types.HoverParams) -> types.Hover | None:
        document = files.document(params.text_document.uri)
        if document is None:
            return None
        offset = document.source.offset(params.position.line, params.position.character)
        found = hover.hover(document, offset)
        if found is None:
            return None
        content = types.MarkupContent(types.MarkupKind.Markdown, found.text)
        return types.Hover(content, _range(document.source, found.span))

    @server.feature(types.TEXT_DOCUMENT_DEFINITION)
    @server.thread()
    def declared(params: types.DefinitionParams) -> types.Location | None:
        document = files.document(params.text_document.uri)
        if document is None:
            return None
        offset = document.source.offset(params.position.line, params.position.character)
        found = hover.definition(document, offset)
        if found is None:
            return None
        return types.Location(params.text_document.uri, _range(document.source, found))

    @server.feature(types.TEXT_DOCUMENT_FORMATTING)
    @server.thread()
    def formatted(params: types.DocumentFormattingParams) -> list[types.TextEdit] | None:
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

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    @server.thread()
    def outlined(params: types.DocumentSymbolParams) -> list[types.DocumentSymbol]:
        path = path_of(params.text_document.uri)
        source = files.source(path)
        if is_over_time(path):
            found = symbols.symbols_over_time(source.text)
        elif is_rule_set(path):
            named = symbols.symbols_of_rule_set(source.text)
            found = [each for each in named if each.name]
        else:
            found = [] if is_query_file(path) else symbols.symbols(source.text)
        return [
            types.DocumentSymbol(
                name=each.name,
                detail=each.kind,
                kind=types.SymbolKind.Function
                if each.kind == "mapping"
                else types.SymbolKind.Event,
                range=_range(source, each.whole),
                selection_range=_range(source, each.name_at),
            )
            for each in found
        ]


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
