"""The rule language: text to syntax tree and back."""
