"""The journal: its entries, their effects, and the interface of a store."""
