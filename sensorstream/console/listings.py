"""Texts as they are: messages, rules, plans, headings."""

from __future__ import annotations

from nicegui import ui
from nicegui.elements.mixins.text_element import TextElement


def heading(text: str, tag: str = "h2") -> None:
    """Show the heading of a page (``h1``) or of a part of it; nothing in it is taken as HTML."""
    TextElement(tag=tag, text=text).classes("title" if tag == "h1" else "part")


class Listing:
    """A text in a fixed font, with its line breaks."""

    def __init__(self, text: str, name: str) -> None:
        # Somebody without a mouse must be able to scroll in it.
        frame = ui.element("pre").classes("listing").props("tabindex=0 role=region")
        frame.props["aria-label"] = name
        with frame:
            self._label = ui.label(text)

    def show(self, text: str) -> None:
        """Show another text."""
        self._label.set_text(text)
