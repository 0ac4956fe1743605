"""The persistent knowledge base: the journal, what left the window, alerts and their outbox."""
