"""The persistent knowledge base: journal, statements that left the window, alerts, outbox."""
