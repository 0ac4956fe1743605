"""Alerts on their way out: outbox, signatures, delivery."""
