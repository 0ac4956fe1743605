"""The pipeline on Spark: the journal's entries, an engine for each key, the same history.

The server, or an input, writes messages to the journal. Spark's Structured Streaming reads it
(:mod:`.journal_source`), brings the messages of each key to the engine of that key
(:mod:`.keyed_state`, :mod:`.engine_host`), and writes what the engines say to history
(:mod:`.spark_stream`). The import starts nothing.
"""
