"""The language server in a process of its own, and a client that speaks to it."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
from lsprotocol import types
from pygls.lsp.client import LanguageClient

from sensorstream.cli.init_command import TEMPLATES, make_workspace

T = TypeVar("T")
DEADLINE = 60.0


class Editor:
    """A client whose calls wait for their answers."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        self._changed = asyncio.Event()
        self._found: dict[str, list[types.Diagnostic]] = {}
        self._version = 0
        self.client = LanguageClient("test", "1")
        self.capabilities: types.ServerCapabilities
        self.exit_code: int | None = None

        @self.client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)  # type: ignore[untyped-decorator]
        def published(params: types.PublishDiagnosticsParams) -> None:
            self._found[params.uri] = list(params.diagnostics)
            self._changed.set()

    def start(self, folder: Path) -> None:
        async def start() -> None:
            await self.client.start_io(sys.executable, "-m", "sensorstream", "language-server")
            answer = await self.client.initialize_async(
                types.InitializeParams(
                    capabilities=types.ClientCapabilities(), root_uri=folder.as_uri()
                )
            )
            self.capabilities = answer.capabilities
            self.client.initialized(types.InitializedParams())

        self.wait(start())

    def stop(self) -> int | None:
        async def stop() -> int | None:
            await self.client.shutdown_async(None)
            self.client.exit(None)
            process = self.client._server
            assert process is not None
            return await process.wait()

        try:
            return self.wait(stop())
        finally:
            self.wait(self.client.stop())  # type: ignore[no-untyped-call]
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    def wait(self, coroutine: Coroutine[Any, Any, T]) -> T:
        async def bounded() -> T:
            return await asyncio.wait_for(coroutine, DEADLINE)

        return asyncio.run_coroutine_threadsafe(bounded(), self._loop).result(DEADLINE + 5)

    # Files

    def open(self, path: Path, text: str, language: str = "sensorstream") -> None:
        item = types.TextDocumentItem(path.as_uri(), language, 1, text)
        self._notify(
            lambda: self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        )

    def change(self, path: Path, text: str) -> None:
        self._version += 1
        identifier = types.VersionedTextDocumentIdentifier(self._version, path.as_uri())
        whole = types.TextDocumentContentChangeWholeDocument(text)
        self._notify(
            lambda: self.client.text_document_did_change(
                types.DidChangeTextDocumentParams(identifier, [whole])
            )
        )

    def close(self, path: Path) -> None:
        identifier = types.TextDocumentIdentifier(path.as_uri())
        self._notify(
            lambda: self.client.text_document_did_close(
                types.DidCloseTextDocumentParams(identifier)
            )
        )

    def changed_on_disk(self, path: Path) -> None:
        change = types.FileEvent(path.as_uri(), types.FileChangeType.Changed)
        self._notify(
            lambda: self.client.workspace_did_change_watched_files(
                types.DidChangeWatchedFilesParams([change])
            )
        )

    def _notify(self, send: Callable[[], None]) -> None:
        async def sent() -> None:
            send()

        self.wait(sent())

    def diagnostics(
        self, path: Path, until: Callable[[list[types.Diagnostic]], bool] = bool
    ) -> list[types.Diagnostic]:
        """The diagnostics of a file, once they are as wanted (by default: once there are any)."""

        async def wanted() -> list[types.Diagnostic]:
            while path.as_uri() not in self._found or not until(self._found[path.as_uri()]):
                self._changed.clear()
                await self._changed.wait()
            return self._found[path.as_uri()]

        return self.wait(wanted())

    # Questions; a place is a line and a character, counted from 0

    def completions(self, path: Path, line: int, character: int) -> list[types.CompletionItem]:
        answer = self.wait(
            self.client.text_document_completion_async(
                types.CompletionParams(
                    types.TextDocumentIdentifier(path.as_uri()), types.Position(line, character)
                )
            )
        )
        assert isinstance(answer, types.CompletionList)
        return list(answer.items)

    def hover(self, path: Path, line: int, character: int) -> str | None:
        answer = self.wait(
            self.client.text_document_hover_async(
                types.HoverParams(
                    types.TextDocumentIdentifier(path.as_uri()), types.Position(line, character)
                )
            )
        )
        if answer is None:
            return None
        assert isinstance(answer.contents, types.MarkupContent)
        return answer.contents.value

    def definition(self, path: Path, line: int, character: int) -> types.Location | None:
        answer = self.wait(
            self.client.text_document_definition_async(
                types.DefinitionParams(
                    types.TextDocumentIdentifier(path.as_uri()), types.Position(line, character)
                )
            )
        )
        assert answer is None or isinstance(answer, types.Location)
        return answer

    def ask(self, what: str, path: Path, line: int, character: int, **more: object) -> Any:
        """The answer to another question about a place, such as ``references``."""
        kind = what.removesuffix("s").title().replace("_", "")
        params = getattr(types, f"{kind}Params")(
            text_document=types.TextDocumentIdentifier(path.as_uri()),
            position=types.Position(line, character),
            **more,
        )
        return self.wait(getattr(self.client, f"text_document_{what}_async")(params))

    def fixes(self, path: Path, fault: types.Diagnostic) -> list[str]:
        """The new texts of the quick fixes of a fault."""
        params = types.CodeActionParams(
            text_document=types.TextDocumentIdentifier(path.as_uri()),
            range=fault.range,
            context=types.CodeActionContext([fault]),
        )
        found = []
        for each in self.wait(self.client.text_document_code_action_async(params)) or ():
            assert isinstance(each, types.CodeAction)
            assert each.edit is not None
            assert each.edit.changes is not None
            found += [edit.new_text for edit in each.edit.changes[path.as_uri()]]
        return found

    def format(self, path: Path) -> list[types.TextEdit] | None:
        answer = self.wait(
            self.client.text_document_formatting_async(
                types.DocumentFormattingParams(
                    types.TextDocumentIdentifier(path.as_uri()), types.FormattingOptions(2, True)
                )
            )
        )
        return None if answer is None else list(answer)

    def outline(self, path: Path) -> list[types.DocumentSymbol]:
        answer = self.wait(
            self.client.text_document_document_symbol_async(
                types.DocumentSymbolParams(types.TextDocumentIdentifier(path.as_uri()))
            )
        )
        return [each for each in answer or () if isinstance(each, types.DocumentSymbol)]


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("deployment of æ")
    make_workspace(folder, TEMPLATES["tracking"])
    return folder


@pytest.fixture(scope="session")
def editor(folder: Path) -> Iterator[Editor]:
    editor = Editor()
    editor.start(folder)
    yield editor
    assert editor.stop() == 0
