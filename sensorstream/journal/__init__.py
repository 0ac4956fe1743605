"""The journal: its entries, what they leave behind, and what it asks of a store."""
