"""Rules that derive less, and rules that derive more, than what an ontology entails."""
