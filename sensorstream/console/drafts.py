"""What somebody was writing when a page was loaded anew, such as after a restart of the server."""

from __future__ import annotations

from typing import Final

from nicegui import ui

from sensorstream.console.scripts import ask

_KEEP: Final = """(id, base, name) => {
  const key = "draft " + location.pathname + " " + name;
  const draft = JSON.parse(sessionStorage.getItem(key));
  sessionStorage.removeItem(key);
  addEventListener("pagehide", () => {
    const text = getElement(id)?.editor?.state.doc.toString();
    const kept = JSON.stringify([base, text]);
    if (text !== undefined && text !== base) sessionStorage.setItem(key, kept);
  });
  const how = performance.getEntriesByType("navigation")[0]?.type;
  if (how !== "reload" || !draft || draft[1] === base) return null;
  base = draft[0];
  return draft;
}"""
_TOLD: Final = "What was written here before the page was loaded anew stands in the editor."


async def keep_draft(editor: ui.codemirror, name: str) -> str:
    """Let the browser keep what is written in an editor over a reload of its page.

    Called when what the server says stands in the editor; ``name`` tells editors of a page apart.
    The text that was there before somebody wrote, now or before the page was loaded anew.
    """
    base = str(editor.value)
    draft = await ask(_KEEP, editor.id, base, name)
    if isinstance(draft, list):
        base, text = map(str, draft)
        editor.set_value(text)
        ui.notify(_TOLD)
    return base
