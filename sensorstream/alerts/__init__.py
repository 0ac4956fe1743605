"""Delivery of alerts: outbox, signatures, webhooks."""
