"""The persistent knowledge base: journal, history and its SQL."""
