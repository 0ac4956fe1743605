"""The one place where all parts are connected, started and stopped."""
