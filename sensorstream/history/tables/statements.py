"""What was said: statements with their times, and the individuals they belong to."""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Double,
    Identity,
    Index,
    Integer,
    LargeBinary,
    Numeric,
    SmallInteger,
    Table,
    Text,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from sensorstream.history.tables.schema import FINE, MOMENT, metadata

# The writer gives the numbers and sees to it that no term has two. A B-tree refuses keys over
# 2.7 kB, and texts come from messages: one long text would stop the writer for ever. A hash index
# takes any length.
terms: Final = Table(
    "terms",
    metadata,
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("moment", MOMENT),
    # 0 IRI, 1 blank node, 2 literal: sensorstream.history.terms.Kind.
    Column("kind", SmallInteger, nullable=False),
    Column("number", Numeric),
    Column("text", Text, nullable=False),
    Column("datatype", Text),
    Column("language", Text),
    CheckConstraint("kind in (0, 1, 2)", name="kind"),
    Index("terms_text_idx", "text", postgresql_using="hash"),
)

# The sets of classes that individuals had when they left: some few, for many stays. A B-tree would
# refuse a long one.
class_sets: Final = Table(
    "class_sets",
    metadata,
    Column("id", Integer, Identity(always=True), primary_key=True),
    # Numbers of terms, in order.
    Column("classes", ARRAY(BigInteger), nullable=False),
    Index("class_sets_classes_idx", "classes", postgresql_using="hash"),
)

stays: Final = Table(
    "stays",
    metadata,
    Column("stay", BigInteger, primary_key=True, autoincrement=False),
    Column("name", BigInteger, nullable=False),
    Column("entered", BigInteger, nullable=False),
    Column("time", BigInteger, nullable=False),
    Column("expired_at", BigInteger, nullable=False),
    Column("message", BigInteger, nullable=False),
    # The text of its name, at hand for the views: joins of them compare texts.
    Column("iri", Text, nullable=False),
    # What store.statements says of its end, at hand for the views: store.tell_end keeps it. The
    # properties are in order, each with its objects and their numbers; "several": one has several.
    Column("class_set", Integer, nullable=False),
    Column("properties", ARRAY(BigInteger), nullable=False, server_default="{}"),
    Column("objects", ARRAY(BigInteger), nullable=False, server_default="{}"),
    Column("numbers", ARRAY(Double), nullable=False, server_default="{}"),
    Column("several", Boolean, nullable=False, server_default=text("false")),
    # In order: for the latest, which a BRIN index does not know. One for each time line's views.
    Index("stays_time_idx", "time"),
    Index("stays_moment_idx", text("store.moment(time)")),
    Index("stays_name_idx", "name"),
    Index("stays_iri_idx", "iri", postgresql_using="hash"),
    Index("stays_class_set_idx", "class_set"),
)

# Partitions are made when they are first needed: sensorstream.history.partitions.
statements: Final = Table(
    "statements",
    metadata,
    Column("subject", BigInteger, nullable=False),
    Column("predicate", BigInteger, nullable=False),
    Column("object", BigInteger, nullable=False),
    Column("valid_from", BigInteger, nullable=False),
    Column("valid_to", BigInteger, nullable=False),
    Column("stay", BigInteger, nullable=False),
    # The number of the message in the journal.
    Column("message", BigInteger, nullable=False),
    # The object's number, rounded: for the index.
    Column("number", Double),
    Column("inferred", Boolean, nullable=False),
    # False: no other row that says false has this triple. So rows that say true are all that must
    # be made distinct to count triples. Who cannot know says true: this is never changed later.
    Column("again", Boolean, nullable=False, server_default=text("true")),
    Index("statements_again_idx", "predicate", postgresql_where=text("again")),
    Index("statements_subject_idx", "subject", "valid_to"),
    # Without a time: so equal keys share an entry. The partition and the BRIN indexes know times.
    Index("statements_object_idx", "predicate", "object"),
    Index(
        "statements_number_idx",
        "predicate",
        "number",
        postgresql_where=text("number is not null"),
    ),
    Index("statements_predicate_idx", "predicate", "valid_from"),
    Index(
        "statements_time_idx",
        "valid_from",
        "valid_to",
        postgresql_using="brin",
        postgresql_with=FINE,
    ),
    # The times as the views of the dateTime line show them.
    Index(
        "statements_moment_idx",
        text("store.moment(valid_from)"),
        text("store.moment(valid_to)"),
        postgresql_using="brin",
        postgresql_with=FINE,
    ),
    # For the planner: only statistics of whole spans say how few statements hold at an instant.
    Index(
        "statements_span_idx",
        text("store.span(valid_from, valid_to)"),
        postgresql_using="brin",
        postgresql_with=FINE,
    ),
    postgresql_partition_by="RANGE (valid_to)",
)

# Terms that generated views name by number: they stay when no statement has them.
vocabulary: Final = Table(
    "vocabulary",
    metadata,
    Column("term", BigInteger, primary_key=True, autoincrement=False),
)

# What left for Parquet files: sensorstream.archive.manifest.
archives: Final = Table(
    "archives",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("name", Text, nullable=False),
    # Statements that ended in this span.
    Column("ended_from", BigInteger, nullable=False),
    Column("ended_before", BigInteger, nullable=False),
    Column("state", Text, nullable=False),
    # For each table the number of rows in its file, and the file's SHA-256 digest.
    Column("files", JSONB, nullable=False, server_default=text("'{}'::jsonb")),
    Column("bytes", BigInteger, nullable=False, server_default=text("0")),
    Column("changed_at", MOMENT, nullable=False, server_default=text("now()")),
    CheckConstraint("state in ('writing', 'archived', 'restored', 'deleted')", name="state"),
)

# The contents that were stored without journal and window. Their statements and stays have -id as
# the number of their message.
backfilled: Final = Table(
    "backfilled",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    # SHA-256.
    Column("digest", LargeBinary, nullable=False, unique=True),
    Column("name", Text, nullable=False),
    Column("stored_at", MOMENT, nullable=False, server_default=text("now()")),
)
