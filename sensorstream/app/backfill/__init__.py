"""Fills history from folders of XML, without journal and window."""
