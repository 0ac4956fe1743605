"""Parts of pages: links, tables, lists of facts, filters, and the states of loading and empty.

Links are not NiceGUI's own ones, which would name the path of all pages twice.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from nicegui import ui
from nicegui.elements.mixins.text_element import TextElement
from nicegui.events import GenericEventArguments

from sensorstream.console.code_editor import mark_faults
from sensorstream.console.page_addresses import BASE, address, twin
from sensorstream.console.shown_values import Piece, Value, number, viewer, when
from sensorstream.errors import SensorStreamError
from sensorstream.model.frozen import frozen


def link(text: str, address: str) -> ui.element:
    """A link to an address of :mod:`.page_addresses`; a ``with`` block adds to its content."""
    made = ui.element("a")
    made.props["href"] = address
    if text:
        with made:
            ui.label(text).classes("inline")
    return made


def show(value: Value) -> None:
    """Show a text, or several side by side, with their links, tooltips and looks."""
    for at, each in enumerate((value,) if isinstance(value, str | Piece) else value):
        piece = Piece(each) if isinstance(each, str) else each
        if at:
            TextElement(tag="span", text=" ")
        made = ui.element("a" if piece.address else "span").classes(piece.look)
        if piece.address:
            made.props["href"] = piece.address
        if piece.hover:
            made.props["title"] = piece.hover
        with made:
            ui.label(piece.text).classes("inline")


@contextmanager
def loading(text: str = "Loading …") -> Iterator[None]:
    """Say that something is being read, until the block ends."""
    with ui.element("div").classes("loading").props("role=status") as shown:
        ui.spinner().props("aria-hidden=true")
        ui.label(text)
    try:
        yield
    finally:
        shown.delete()


def choices(title: str, names: Mapping[str, str], here: str, address: Callable[[str], str]) -> None:
    """Links side by side, with their names, to addresses; ``here`` is where we are."""
    with ui.element("nav").classes("choices") as nav:
        nav.props["aria-label"] = title
        for key, name in names.items():
            made = link(name, address(key)).classes("choice")
            if key == here:
                made.props("aria-current=page")


def go(address: str) -> None:
    """Show another page in the place of this one."""
    ui.navigate.to(address.removeprefix(BASE))


def stand_at(address: str) -> None:
    """Let the browser's address line name this state of the page, which stays as it is."""
    ui.navigate.history.replace(address)


def heading(text: str, tag: str = "h2") -> None:
    """Show the heading of a page (``h1``) or of a part of it; nothing in it is taken as HTML."""
    TextElement(tag=tag, text=text).classes("title" if tag == "h1" else "part")


class Listing:
    """A text in a fixed font, with its line breaks."""

    def __init__(self, text: str, name: str) -> None:
        # Without a mouse it must be possible to scroll in it.
        frame = ui.element("pre").classes("listing").props("tabindex=0 role=region")
        frame.props["aria-label"] = name
        with frame:
            self._label = ui.label(text)

    def show(self, text: str) -> None:
        """Show another text."""
        self._label.set_text(text)


ONCE: Final = "event.detail < 2"
"""A JavaScript test: the click is not the second of a double click (DOM, ``UIEvent.detail``)."""


def change_button(
    name: str, do: Callable[[], Awaitable[None]], notice: Notice | None = None
) -> ui.button:
    """A button that cannot be pressed again until its action is done; errors of the server stand in
    the ``notice``, without one ``do`` sees to them.
    """
    button = ui.button(name).props("no-caps")

    async def act() -> None:
        button.props("loading")
        try:
            with nullcontext() if notice is None else notice.of():
                await do()
        finally:
            button.props(remove="loading")

    return button.on("click", act, js_handler=f"(event) => {{ if ({ONCE}) emit() }}")


class FactList:
    """A list of names and values; a value that is empty is left out."""

    def __init__(self, leads: Mapping[str, str] = MappingProxyType({})) -> None:
        """``leads`` are the addresses that values lead to, by their names."""
        self._leads = leads
        self._list = ui.element("dl").classes("facts")
        self._shown: dict[str, Value] = {}

    def show(self, facts: Mapping[str, Value]) -> None:
        """Show these in place of those before."""
        said = {name: value for name, value in facts.items() if value and value != Piece("")}
        if said == self._shown:
            return
        self._shown = said
        self._list.clear()
        with self._list:
            for name, value in said.items():
                with ui.element("dt"):
                    ui.label(name)
                lead = self._leads.get(name)
                with ui.element("dd"):
                    show(value if lead is None else Piece(str(value), address=lead))


Row: TypeAlias = Mapping[str, Any]
_LINK: Final = "@link"
_OFFERED: Final = "@offered"
# The style sheet shows a row as a card on a narrow screen: a cell says its own heading there.
_CELL: Final = """
<q-td :props="props" :data-heading="props.col.label"
  :class="(props.value ?? '') === '' ? 'blank' : ''">
  <component :is="props.row[props.col.name + '@link'] ? 'a' : 'span'"
    :href="props.row[props.col.name + '@link'] || null"
    :title="props.row[props.col.name + '@hover'] || null"
    :class="props.row[props.col.name + '@look']">{{
      props.row[props.col.name + '@text'] ?? props.value }}</component>
</q-td>
"""
_BOX: Final = """
<q-checkbox v-model="props.selected" dense :aria-label="props.row?.['@name'] ?? 'All rows'" />
"""
_BUTTON: Final = (
    """
<q-td :props="props" :class="props.row[props.col.name + '@offered'] ? '' : 'blank'">
  <q-btn v-if="props.row[props.col.name + '@offered']" flat dense no-caps color="primary"
    :label="props.col.title" @click="(event) => { if ("""
    + ONCE
    + """) $parent.$emit(props.col.name, props.row) }" />
</q-td>
"""
)


@frozen
class TableColumn:
    """A column: the key of its values in a row, its heading, and where a value leads."""

    name: str
    heading: str
    link: Callable[[Row], str] | None = None
    """An address from a row; empty: this row has none."""
    is_number: bool = False
    value: Callable[[Row], object] | None = None
    """The value shown, from a row, which may be a :class:`.Piece`; None: its value of this name."""
    unit: str = ""
    """The unit of numbers (see :func:`.number`)."""


def moments(name: str, heading: str) -> TableColumn:
    """A column of moments of the HTTP interface."""
    return TableColumn(name, heading, value=lambda row: when(row[name]))


Do: TypeAlias = Callable[[Row], Awaitable[object]]
"""The action of a button in a row."""


class ShownTable:
    """A table that shows the latest rows it was given; errors of its buttons stand above it.

    ``path`` is the operation of the HTTP interface that the rows come from ("": they cannot be read
    by GET), ``empty`` the text where there are none; ``key`` names the column whose values tell
    rows apart (the first one). If there are ``most``, the table says that there may be more.
    """

    def __init__(
        self,
        columns: Sequence[TableColumn],
        path: str,
        empty: str = "There are none.",
        *,
        key: str = "",
        rows_a_page: int = 20,
        most: int | None = None,
    ) -> None:
        self.notice = Notice()
        self.most = most
        self.searched: int | None = None
        """The number of rows among which those shown were chosen; None: they are all."""
        self._columns = columns
        self._key = key or columns[0].name
        self._named = self._key
        self._offered: dict[str, Callable[[Row], bool]] = {}
        self._rows_a_page = rows_a_page
        drawn = [
            {
                "name": each.name,
                "label": each.heading,
                "field": each.name,
                "align": "right" if each.is_number else "left",
                "sortable": True,
            }
            for each in columns
        ]
        with ui.element("div").classes("table"):
            self.table = ui.table(
                rows=[], columns=drawn, row_key=self._key, pagination=rows_a_page
            ).props("flat dense wrap-cells hide-pagination")
            self._twin = link("as JSON", twin(path)).classes("twin")
            self._twin.set_visibility(bool(path))
            self._more = ui.label().classes("hint")
            self._more.set_visibility(False)
        with self.table.add_slot("no-data"):
            self._empty = ui.label("Loading …").classes("empty")
        self._said_when_empty = empty
        self.table.add_slot("body-cell", _CELL)

    def name_twin(self, path: str) -> None:
        """Name another operation that the rows come from."""
        self._twin.props["href"] = twin(path)

    def add(
        self, name: str, title: str, do: Do, is_offered: Callable[[Row], bool] = lambda row: True
    ) -> None:
        """Offer a button, which says its ``title``, in each row for which it is offered."""
        self._offered[name] = is_offered
        column = {"name": name, "label": "", "field": name, "align": "left", "title": title}
        self.table.columns = [*self.table.columns, column]
        self.table.add_slot(f"body-cell-{name}", _BUTTON)

        async def done(row: Row) -> None:
            with self.notice.of():
                await do(row)

        self.table.on(name, lambda event: done(event.args))

    def choose(self, name: str, chosen: Callable[[], None]) -> None:
        """Let rows be chosen by boxes; a column is their name. ``chosen`` is called at a change."""
        self.table.selection = "multiple"
        for slot in ("header-selection", "body-selection"):
            self.table.add_slot(slot, _BOX)
        self._named = name
        self.table.on_select(lambda _: chosen())

    @property
    def chosen(self) -> list[Row]:
        """The rows that are chosen, of those that are shown."""
        keys = {each[self._key] for each in self.table.selected}
        return [row for row in self.table.rows if row[self._key] in keys]

    def show(self, rows: Sequence[Row]) -> None:
        """Show these rows."""
        self._empty.set_text(self._said_when_empty)
        linked = [{**row, **self._extras(row)} for row in rows]
        if linked != self.table.rows:
            self.table.rows = linked
            if len(linked) > self._rows_a_page:
                self.table.props(remove="hide-pagination")
        read = len(linked) if self.searched is None else self.searched
        self._more.set_text(f"These are of the first {self.most}; there may be more.")
        self._more.set_visibility(read == self.most)

    def _extras(self, row: Row) -> dict[str, object]:
        made: dict[str, object] = {
            f"{name}{_OFFERED}": offered(row) for name, offered in self._offered.items()
        }
        for column in self._columns:
            name = column.name
            value = row.get(name) if column.value is None else column.value(row)
            if isinstance(value, Piece):
                made |= {f"{name}@hover": value.hover, f"{name}@look": value.look}
                made |= {f"{name}{_LINK}": value.address}
                value = value.text
            elif column.is_number and value is not None:
                made |= {f"{name}@text": number(value, column.unit), f"{name}@hover": str(value)}
            made[name] = value
            if column.link is not None:
                made[f"{name}{_LINK}"] = column.link(row)
        return {**made, "@name": str(row.get(self._named))}


class LiveTable(ShownTable):
    """A table that is read again and again."""

    def __init__(
        self,
        columns: Sequence[TableColumn],
        rows: Callable[[], Awaitable[Sequence[Row] | None]],
        pause: float,
        *given: str,
        **how: Any,
    ) -> None:
        """``rows`` reads them, again after so many seconds; None: the rows shown stay."""
        super().__init__(columns, *given, **how)
        self._rows = rows
        keep_fresh(pause, self.read)

    async def read(self) -> None:
        """Read and show the present rows."""
        found = await self._rows()
        if found is not None:
            self.show(found)

    def act(
        self, name: str, title: str, do: Do, is_offered: Callable[[Row], bool] = lambda row: True
    ) -> None:
        """Offer an action in a row, after which the table is read anew."""

        async def acted(row: Row) -> None:
            await do(row)
            await self.read()

        self.add(name, title, acted, is_offered)

    def act_on_chosen(
        self, name: str, actions: Mapping[str, Callable[[Row], Awaitable[object]]]
    ) -> None:
        """Let rows be chosen, and offer buttons for all that are; see :meth:`choose`."""

        def button(title: str, do: Callable[[Row], Awaitable[object]]) -> None:
            async def act() -> None:
                try:
                    for row in self.chosen:
                        await do(row)
                    self.table.selected = []
                finally:
                    await self.read()
                    turn()

            change_button(title, act, self.notice).props("outline")

        def turn() -> None:
            said.set_text(f"{number(len(self.chosen))} chosen")

        with ui.element("div").classes("form"):
            for title, do in actions.items():
                button(title, do)
            said = ui.label("Choose rows by their boxes.").classes("hint").props("role=status")
        self.choose(name, turn)


_ANY: Final = ""
_BETWEEN: Final = "between"
_LASTING: Final = {
    _ANY: "any time",
    "15m": "the last 15 minutes",
    "1h": "the last hour",
    "6h": "the last 6 hours",
    "1d": "the last day",
    "7d": "the last week",
    "30d": "the last 30 days",
    _BETWEEN: "from … to …",
}
_NUMBERS: Final = {
    _ANY: "any time",
    **{str(each): f"the last {each:,}" for each in (10, 100, 1000, 10_000)},
    _BETWEEN: "from … to …",
}
_UNITS: Final = {"m": "minutes", "h": "hours", "d": "days"}


_End: TypeAlias = datetime | float | None


class FilterBar:
    """Fields that choose what a page shows. Their values stand in the address, so that a link and a
    reload keep them; ``change`` is called after each of them.
    """

    def __init__(
        self, path: str, asked: Mapping[str, str], change: Callable[[], Awaitable[None]]
    ) -> None:
        """``asked`` are the query parameters, of which others than those of the fields stay."""
        self._path = path
        self._values = dict(asked)
        self._change = change
        self._row = ui.element("div").classes("form filters").props("role=search")
        self._is_number = False
        self._fields: list[str] = []

    def __getitem__(self, name: str) -> str:
        return self._values.get(name, "")

    def text(self, name: str, title: str) -> ui.input:
        """A field for a text."""
        self._fields.append(name)
        with self._row:
            field = ui.input(title, value=self[name]).props("clearable debounce=300 dense")
        field.on_value_change(lambda event: self._take(name, event.value))
        return field

    def choice(self, name: str, title: str, options: Mapping[str, str]) -> ui.select:
        """A field for one of some values, by the names that people give them."""
        self._fields.append(name)
        known = {**options, self[name]: options.get(self[name], self[name] or "any")}
        with self._row:
            field = ui.select(known, label=title, value=self[name]).props("dense")
        field.on_value_change(lambda event: self._take(name, event.value))
        return field

    def time_range(self, *, is_number: bool = False) -> None:
        """Fields for a time range (see :meth:`bounds`); ``is_number``: times are whole numbers."""
        self._is_number = is_number
        lasting = self.choice("last", "Time", _NUMBERS if is_number else _LASTING)
        with self._row, ui.element("div").classes("form") as ends:
            for name, title in (("from", "From"), ("to", "To")):
                field = ui.input(title, value=self._local(self[name])).props("dense stack-label")
                field.props("debounce=500").props["type"] = (
                    "number" if is_number else "datetime-local"
                )
                field.on_value_change(
                    lambda event, name=name: self._take(name, self._whole(event.value))
                )
        ends.bind_visibility_from(lasting, "value", value=_BETWEEN)

    def is_used(self) -> bool:
        """Whether a field has a value."""
        return any(self[name] for name in self._fields)

    def bounds(self, now: datetime | float) -> tuple[_End, _End]:
        """The begin and the end that are chosen; None: it is open there."""
        last = self["last"]
        if last == _BETWEEN:
            return self._read("from"), self._read("to")
        if isinstance(now, datetime):
            length, unit = last[:-1], _UNITS.get(last[-1:])
            if unit is None or not (length.isdecimal() and len(length) < 4):
                return None, None
            return now - timedelta(**{unit: int(length)}), None
        return (now - int(last) if last.isdecimal() and len(last) < 19 else None), None

    def _read(self, name: str) -> _End:
        try:
            if self._is_number:
                return float(self[name])
            at = datetime.fromisoformat(self[name])
        except ValueError:
            return None
        return at if at.tzinfo else at.replace(tzinfo=UTC)

    def _local(self, at: str) -> str:
        """A moment of the address as the browser's field has it: in the viewer's clock."""
        try:
            known = datetime.fromisoformat(at).astimezone(viewer().zone)
        except ValueError:
            return at if self._is_number else ""
        return at if self._is_number else f"{known:%Y-%m-%dT%H:%M}"

    def _whole(self, text: str | None) -> str:
        """A moment of the browser's field as the address has it: with its offset."""
        if self._is_number or not text:
            return text or ""
        try:
            return datetime.fromisoformat(text).replace(tzinfo=viewer().zone).isoformat()
        except ValueError:
            return ""

    async def _take(self, name: str, value: str | None) -> None:
        self._values[name] = (value or "").strip()
        if name == "last" and value != _BETWEEN:
            self._values.update({"from": "", "to": ""})
        said = {name: each for name, each in self._values.items() if each}
        stand_at(address(self._path, **said))
        await self._change()


class Notice:
    """A place on the page where the latest error stands until the next try goes well."""

    def __init__(self) -> None:
        self._label = ui.label().classes("notice").props("role=alert")
        self._label.set_visibility(False)

    def show(self, error: SensorStreamError) -> None:
        """Show an error, with its place."""
        self._label.set_text(said(error))
        self._label.set_visibility(True)

    def clear(self) -> None:
        """Show nothing."""
        self._label.set_text("")
        self._label.set_visibility(False)

    @contextmanager
    def of(self, editor: ui.codemirror | None = None) -> Iterator[None]:
        """Show an error of the server in this block, which ends there, and mark the error's place
        in ``editor``, which has what was asked.
        """
        if editor is not None:
            mark_faults(editor, [])
        try:
            yield
        except SensorStreamError as error:
            self.show(error)
            if editor is not None and (at := error.position) is not None:
                position = {"line": at.line, "column": at.column}
                mark_faults(editor, [{"detail": error.message, "position": position}])
        else:
            self.clear()


def said(error: SensorStreamError) -> str:
    """An error in one text: its place, if it has one, and its message."""
    at = error.position
    return error.message if at is None else f"line {at.line}, column {at.column}: {error.message}"


VISIBLE: Final = "visible"
"""The event by which the browser says whether it shows the page: true or false."""


def while_visible(begin: Callable[[], None], end: Callable[[], None]) -> None:
    """Begin now; end while the browser shows another tab, and when the page is left. ``end`` is
    called once for each ``begin``.
    """
    begins = [True]
    begin()

    def turn(is_visible: bool) -> None:
        if is_visible != begins[0]:
            begins[0] = is_visible
            (begin if is_visible else end)()

    ui.on(VISIBLE, lambda event: turn(event.args is True))
    ui.context.client.on_delete(lambda: turn(False))


def keep_fresh(seconds: float, read: Callable[[], Awaitable[None]]) -> None:
    """Read now, and again so many seconds after each reading, but not while the browser shows
    another tab; an error stands here.
    """
    notice = Notice()

    async def look() -> None:
        with notice.of():
            await read()

    timer = ui.timer(seconds, look)

    def turn(event: GenericEventArguments) -> None:
        timer.active = event.args is True

    ui.on(VISIBLE, turn)
