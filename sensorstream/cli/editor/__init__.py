"""The language server: what editors show for rule files and queries."""
