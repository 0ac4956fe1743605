"""The questions that are open side by side, and those saved by name; the browser keeps them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from nicegui import ui

from sensorstream.console.page_scripts import ask, run

Question: TypeAlias = Mapping[str, str]
"""Its ``text``, its ``language``, what it is asked ``on``, and the moment (``at``), or ""."""
_PARTS: Final = ("text", "language", "on", "at")
_PREAMBLE: Final = re.compile(r"(?i)\A(?:\s|#[^\n]*|(?:prefix\s+\S*|base)\s*<[^<>]*>)*")
_LONGEST: Final = 26


def title_of(question: Question) -> str:
    """The beginning of a question, without its prefixes and comments."""
    text = " ".join(_PREAMBLE.sub("", question["text"]).split())
    return f"{text[:_LONGEST]} …" if len(text) > _LONGEST else text or "New question"


class QuestionTabs:
    """A tab for each open question; beside them buttons to open, close and save one."""

    def __init__(
        self,
        read: Callable[[], Question],
        show: Callable[[Question], None],
        offer: Callable[[], None],
    ) -> None:
        """``read`` gives the question of the fields, ``show`` puts one there; ``offer`` is called
        when others are saved.
        """
        self.saved: dict[str, Question] = {}
        self._read, self._show, self._offer = read, show, offer
        self._open: list[Question] = [dict.fromkeys(_PARTS, "")]
        self._at = 0
        with ui.element("div").classes("questions"):
            self._tabs = ui.tabs(on_change=lambda event: self._go(int(event.value or 0)))
            self._tabs.props("no-caps dense align=left outside-arrows mobile-arrows")
            self._button("add", "New question", self._add)
            self._button("close", "Close this question", self._close)
            self._button("star_outline", "Save this question", lambda: self._dialog.open())
        with ui.dialog() as self._dialog, ui.card():
            name = ui.input("Name of the question").props("autofocus")
            name.on("keydown.enter", lambda: self._save(name.value))
            with ui.element("div").classes("form"):
                ui.button("Save", on_click=lambda: self._save(name.value)).props("no-caps")
                ui.button("Forget", on_click=lambda: self._forget(name.value)).props("no-caps flat")
            ui.label("This browser keeps it; 'Begin with' lists it.").classes("hint")

    def _button(self, icon: str, name: str, do: Callable[[], object]) -> None:
        button = ui.button(icon=icon, on_click=do).props("flat dense").tooltip(name)
        button.props["aria-label"] = name

    async def load(self, editor: int, asked: Question) -> None:
        """Show the questions that the browser keeps, with the one that an address asks open."""
        found = await ask("questions", editor)
        kept = found if isinstance(found, dict) else {}
        at, saved = kept.get("at"), kept.get("saved")
        self._open = _questions(kept.get("open")) or self._open
        self._at = at if isinstance(at, int) and 0 <= at < len(self._open) else 0
        named = saved if isinstance(saved, dict) else {}
        self.saved = dict(zip(named, _questions([*named.values()]), strict=True))
        texts = [each["text"] for each in self._open]
        if not kept.get("reload") and asked["text"] in texts and asked["text"]:
            self._at = texts.index(asked["text"])
        if kept.get("reload") or not (asked["text"] or asked["on"] or asked["language"]):
            self._show(self._open[self._at])
        elif texts[self._at] in ("", asked["text"]):
            self._open[self._at] = self._read()
        else:
            self._open.append(self._read())
            self._at = len(self._open) - 1
        self._offer()
        self._draw()

    def keep(self) -> None:
        """Let the browser keep the open question as it is in the fields now."""
        self._open[self._at] = self._read()
        self._draw()

    def _draw(self) -> None:
        self._tabs.clear()
        with self._tabs:
            for at, each in enumerate(self._open):
                ui.tab(str(at), title_of(each))
        self._tabs.set_value(str(self._at))
        run("keepQuestions", {"open": self._open, "at": self._at, "saved": self.saved})

    def _go(self, at: int) -> None:
        if at != self._at:
            self._open[self._at] = self._read()
            self._at = at
            self._show(self._open[at])
            self._draw()

    def _add(self) -> None:
        self._open[self._at] = now = self._read()
        self._open.append({**now, "text": ""})
        self._go(len(self._open) - 1)

    def _close(self) -> None:
        del self._open[self._at]
        self._open = self._open or [dict.fromkeys(_PARTS, "")]
        self._at = min(self._at, len(self._open) - 1)
        self._show(self._open[self._at])
        self._draw()

    def _save(self, name: str) -> None:
        if name.strip():
            self.saved[name.strip()] = self._read()
            self._offer()
            self._dialog.close()
            self.keep()

    def _forget(self, name: str) -> None:
        self.saved.pop(name.strip(), None)
        self._offer()
        self._dialog.close()
        self.keep()


def _questions(kept: Any) -> list[Question]:
    """Questions as the browser kept them; what is not there is empty."""
    listed = kept if isinstance(kept, list) else []
    known = [each if isinstance(each, dict) else {} for each in listed]
    return [{part: str(each.get(part) or "") for part in _PARTS} for each in known]
