"""Rules that derive less, and rules that derive more, than an ontology entails."""
