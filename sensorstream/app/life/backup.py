"""A deployment as one file: its settings, the files that they name, and its database.

The file is a tar archive::

    backup.json            what it is: Facts
    deployment/…           the settings file, and the files it names that are beside or below it
    database.dump          the database, as pg_dump writes it (format custom)
    archive/…              the Parquet files of the archive that the database lists
    pipeline/…             the state of the engines on Spark, if there is one and no pipeline runs
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from datetime import datetime
from importlib import metadata
from pathlib import Path
from typing import Final

from sensorstream.app.control.mapping_files import is_rule_file
from sensorstream.app.control.rule_files import rule_set_files
from sensorstream.errors import HistoryError
from sensorstream.history.database import connect, translating
from sensorstream.history.effects_writer import Writes, lock
from sensorstream.history.open_history import dump, fill, open_history, open_kept
from sensorstream.history.views import admit_to_views
from sensorstream.installation import require
from sensorstream.language.rule_parser import parse_with_recovery
from sensorstream.model.frozen import asdict, frozen
from sensorstream.processes.own_folders import own_folder, remove_left
from sensorstream.reasoning.ontology_documents import surroundings
from sensorstream.settings.settings import Settings
from sensorstream.settings.settings_file import load_settings

_FACTS: Final = "backup.json"
_DATABASE: Final = "database.dump"
_FILES: Final = "deployment/"
_ARCHIVE: Final = "archive/"
_PIPELINE: Final = "pipeline/"
STATE_MARK: Final = "sensorstream.json"
"""The file in ``pipeline.folder`` that says whose state is there."""
_FORMAT: Final = 1
_MAKING: Final = ".backup-"
_RESTORING: Final = ".restore-"
"""The beginning of the names of the working folders, which are locked while in use."""
_TOLD: Final = 200
"""Characters of a name that are repeated."""


@frozen
class BackupFacts:
    """The description of a backup, which it contains. ``settings`` is the name of the settings
    file. ``digests`` are the SHA-256 of the other parts. ``outside`` are files that belong to the
    deployment and that it does not hold, ``archive`` is the folder that the archive had.
    """

    format: int
    version: str
    made_at: str
    settings: str
    archive: str
    outside: Sequence[str]
    digests: Mapping[str, str]


def back_up(settings: Settings, file: Path, now: datetime) -> BackupFacts:
    """Write a backup to a new file, with and without a running server.

    Raises:
        ArchiveError: another process changes the archive.
        HistoryError: there is no history, or it cannot be read.
        OSError: the file is there already, or cannot be written.
    """
    inside, outside = named_files(settings)
    if file.exists():
        raise FileExistsError(17, "it is there already, and is not overwritten", str(file))
    with ExitStack() as stack:
        folder = stack.enter_context(own_folder(_MAKING, file.parent))
        url = open_kept(settings.history, stack)
        archived, lost = stack.enter_context(archive_files(url, settings.archive.folder))
        # Before the database: its effects are then at least those that the state covers.
        state, running = stack.enter_context(_state_files(url, settings.pipeline.folder))
        dump(url, folder / _DATABASE)
        parts = {f"{_FILES}{each.relative_to(settings.folder)}": each for each in inside}
        parts[_DATABASE] = folder / _DATABASE
        for each in archived:
            parts[f"{_ARCHIVE}{each.relative_to(settings.archive.folder)}"] = each
        parts |= {f"{_PIPELINE}{name}": each for name, each in state.items()}
        facts = BackupFacts(
            _FORMAT,
            metadata.version("sensorstream"),
            now.isoformat(timespec="seconds"),
            settings.path.name,
            str(settings.archive.folder),
            [str(each) for each in (*outside, *lost, *running)],
            {name: _digest(each) for name, each in parts.items()},
        )
        whole = folder / "whole"
        # Secrets of webhooks are in it, and digests of keys.
        with os.fdopen(os.open(whole, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as output:
            with tarfile.open(fileobj=output, mode="w", dereference=True) as tar:
                content = json.dumps(asdict(facts), ensure_ascii=False, indent=2).encode()
                head = tarfile.TarInfo(_FACTS)
                head.size = len(content)
                tar.addfile(head, io.BytesIO(content))
                for name, each in parts.items():
                    tar.add(each, name)
            output.flush()
            os.fsync(output.fileno())
        os.link(whole, file)  # Unlike a renaming it overwrites nothing.
    return facts


def restore(file: Path, folder: Path) -> tuple[BackupFacts, Settings]:
    """Make a deployment of a backup in an empty or new folder, and fill its empty database.
    Variables of the environment win over the settings of the backup, as always: ``history.url`` may
    name another database.

    Raises:
        HistoryError: not a whole backup of this or an older version, the folder is not empty, the
            database holds a history, or it cannot be filled.
        SettingsError: the settings do not fit any more.
        OSError: a file cannot be read or written.
    """
    for before in (folder, folder.parent):
        remove_left(_RESTORING, before)
    if folder.exists() and any(folder.iterdir()):
        raise HistoryError(f"{folder} is not empty, and nothing in it is overwritten: give another")
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        # On the folder's disk, where the room is needed: the folder may be a disk of its own.
        near = folder if folder.exists() else folder.parent
        with (
            tarfile.open(file, "r:") as tar,
            own_folder(_RESTORING, near) as place,
        ):
            facts = _facts(tar, file)
            for member in _members(tar, facts):
                _extract(tar, member, _inside(place, member.name))
            _restore(facts, place)
            _put(place / _FILES, folder, facts.settings)
            return facts, load_settings(folder / facts.settings)
    except tarfile.TarError as error:
        raise HistoryError(f"{file} is not a whole backup: {error}") from error


def _members(tar: tarfile.TarFile, facts: BackupFacts) -> Iterator[tarfile.TarInfo]:
    """The files of a backup, before any of them is written.

    Raises:
        HistoryError: it holds something else, which no backup does.
    """
    found = tar.getmembers()
    known = {_FACTS, *facts.digests}
    for each in found:
        # No link, which may lead anywhere, and no size above that of the file.
        plain = each.isreg() and not each.issparse()
        if not plain or each.name not in known:
            told = "no file of it" if plain else "no plain file"
            raise _damaged(f"{each.name[:_TOLD]!r} is {told}")
        known.remove(each.name)
    if known:
        raise _damaged(f"{min(known)[:_TOLD]!r} is missing")
    if f"{_FILES}{facts.settings}" not in facts.digests:
        raise _damaged(f"its settings, {facts.settings[:_TOLD]!r}, are no file of it")
    return (each for each in found if each.name != _FACTS)


def _damaged(why: str) -> HistoryError:
    return HistoryError(f"the backup is damaged, or was changed, and nothing is restored: {why}")


def _inside(place: Path, name: str) -> Path:
    part = place / name
    if ".." in part.parts or not part.is_relative_to(place):
        raise _damaged(f"{name[:_TOLD]!r} is not inside it")
    return part


def _extract(tar: tarfile.TarFile, member: tarfile.TarInfo, part: Path) -> None:
    content = tar.extractfile(member)
    assert content is not None, "it is a plain file"
    part.parent.mkdir(parents=True, exist_ok=True)
    with content, part.open("wb") as written:
        shutil.copyfileobj(content, written)


def _restore(facts: BackupFacts, place: Path) -> None:
    """Make the deployment of what was extracted, where it was extracted."""
    for name, digest in facts.digests.items():
        part = _inside(place, name)
        if not part.is_file() or _digest(part) != digest:
            raise _damaged(f"{name[:_TOLD]!r} is not what it was")
    settings = load_settings(place / _FILES / facts.settings)
    homes = {_ARCHIVE: settings.archive.folder, _PIPELINE: settings.pipeline.folder}
    moved: dict[Path, Path] = {}
    for prefix, home in homes.items():
        setting = prefix.removesuffix("/")
        for name in (each for each in facts.digests if each.startswith(prefix)):
            if not isinstance(home, Path):
                raise HistoryError(f"{setting}.folder: {home} is an address: expected a folder")
            there = moved[place / name] = home / name.removeprefix(prefix)
            if there.exists() and _digest(there) != facts.digests[name]:
                raise HistoryError(
                    f"{there} is there already and is another file: give another {setting}.folder "
                    f"(SENSORSTREAM_{setting.upper()}_FOLDER)"
                )
    for part, there in moved.items():
        there.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        shutil.move(part, there)
    with ExitStack() as stack:
        url = open_history(settings.history, stack)
        fill(url, place / _DATABASE)
        # Its right to read belongs to the server, and is in no backup of a database.
        admit_to_views(url)


def _put(made: Path, folder: Path, settings: str) -> None:
    """Move a whole deployment to its place; a kill before the end leaves none."""
    if not folder.exists():
        made.rename(folder)
        return
    # Without the settings, which come last, the rest is no deployment.
    for each in sorted(made.iterdir(), key=lambda path: path.name == settings):
        each.rename(folder / each.name)


def _facts(tar: tarfile.TarFile, file: Path) -> BackupFacts:
    not_one = f"{file} is not a backup of SensorStream"
    try:
        head = tar.extractfile(_FACTS)
        facts = BackupFacts(**json.loads(head.read())) if head is not None else None
    except (KeyError, TypeError, ValueError) as error:
        raise HistoryError(f"{not_one}: {error}") from error
    if facts is None:
        raise HistoryError(not_one)
    if facts.format != _FORMAT:
        raise HistoryError(
            f"{file} was made by SensorStream {facts.version}, which this one cannot read"
        )
    return facts


@contextmanager
def _state_files(
    url: str, folder: Path | str
) -> Iterator[tuple[Mapping[str, Path], list[Path | str]]]:
    """The files of the engines' state on Spark, by their places in its folder; or the folder, if it
    is an address or a pipeline runs. While the block lasts, none starts.
    """
    if isinstance(folder, str) or not (folder / STATE_MARK).is_file():
        yield {}, [folder] if isinstance(folder, str) else []
        return
    with closing(connect(url, application="sensorstream backup")) as connection:
        connection.autocommit = True
        try:
            lock(Writes.EFFECTS, connection, url)
        except HistoryError:
            yield {}, [folder]
            return
        found = (each for each in folder.rglob("*") if each.is_file())
        yield {str(each.relative_to(folder)): each for each in found}, []


@contextmanager
def archive_files(
    url: str, folder: Path, *, read: bool = True
) -> Iterator[tuple[list[Path], list[Path]]]:
    """The files that hold rows of the archive, and those that are lost or damaged. While the block
    lasts, no process changes the archive. Without ``read`` a file that is there is taken to be
    whole.

    Raises:
        ArchiveError: another process changes the archive.
        MissingExtra: there is an archive, and the modules that know it are not installed.
    """
    with closing(connect(url, application="sensorstream backup")) as connection:
        with translating("cannot read the archive's list"), connection.cursor() as cursor:
            cursor.execute("select exists (select from store.archives where state = 'archived')")
            found = cursor.fetchone() == (True,)
        connection.rollback()
        if not found:
            yield [], []
            return
        require("archive", "the archive")
        from sensorstream.archive.manifest import State, changing, parts

        with translating("cannot read the archive's list"), changing(connection):
            with connection, connection.cursor() as cursor:
                kept = parts(cursor, State.ARCHIVED)
            there: list[Path] = []
            lost: list[Path] = []
            for part in kept:
                for table, file in part.files(folder).items():
                    whole = file.is_file() and (
                        not read or _digest(file) == part.held[table.name].digest
                    )
                    (there if whole else lost).append(file)
            yield there, lost


def named_files(settings: Settings) -> tuple[list[Path], list[Path]]:
    """The files that the settings name: those beside or below the settings file, and others.
    Secrets count among the others: certificates, private keys, files of passwords.
    """
    inside: list[Path] = []
    outside: list[Path] = []
    for each in dict.fromkeys(_read(settings)):
        plain = each.resolve()
        known = each.is_relative_to(settings.folder) and ".." not in each.parts
        below = known and plain.is_relative_to(settings.folder.resolve())
        (inside if below and each.is_file() else outside).append(each)
    outside += _secrets(settings)
    return inside, outside


def _read(settings: Settings) -> Iterator[Path]:
    yield settings.path
    yield from settings.ontology.files
    yield from surroundings(settings.ontology.files)
    yield from settings.rules.files
    yield from rule_set_files(settings.reasoning.profile, settings.folder)
    yield from settings.functions.files
    for path in filter(is_rule_file, settings.rules.files):
        # A broken file may not be in force, and is kept as it is.
        with suppress(OSError, UnicodeDecodeError):
            rules, _ = parse_with_recovery(path.read_text(encoding="utf-8"), str(path))
            yield from (path.parent / table.path for table in (rules.tables if rules else ()))
    schemas = [settings.messages.schema, *(each.schema for each in settings.sources.values())]
    yield from (each for each in schemas if each is not None)


def _secrets(settings: Settings) -> Iterator[Path]:
    options = [each.options for each in settings.inputs]
    named: list[object] = [settings.http.certificate, settings.http.private_key]
    for each in (*options, *(each.options for each in settings.outputs)):
        files = ("password_file", "ca_file", "cert_file", "key_file")
        named += [getattr(each, name, None) for name in files]
    yield from (each for each in named if isinstance(each, Path))


def _digest(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
