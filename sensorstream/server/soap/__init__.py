"""SOAP 1.1 and 1.2, without a library: one operation, document/literal wrapped."""
