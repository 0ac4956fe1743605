"""What is asked of a deployment: SQL, SPARQL, individuals, messages, jobs."""
