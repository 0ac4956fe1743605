"""Texts as they are: messages, rules, plans."""

from __future__ import annotations

from nicegui import ui


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
