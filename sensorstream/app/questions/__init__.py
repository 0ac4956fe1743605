"""The questions to a deployment: SQL, SPARQL, individuals, messages, jobs."""
