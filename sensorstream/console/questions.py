"""Questions to begin with, for those who have not asked before."""

from __future__ import annotations

from typing import Final

SPARQL: Final = {
    "All individuals of a class": "SELECT ?class (COUNT(?s) AS ?number) { ?s a ?class }\n"
    "GROUP BY ?class ORDER BY DESC(?number) LIMIT 50",
    "What is said of anything": "SELECT ?subject ?property ?value { ?subject ?property ?value }\n"
    "LIMIT 100",
    "Is there anything?": "ASK { ?s ?p ?o }",
    "Links between individuals": "SELECT ?from ?link ?to {\n"
    "  ?from ?link ?to . FILTER(isIRI(?to))\n} LIMIT 100",
}
SQL: Final = {
    "The last individuals that left": "select iri, class, time, expired_at\n"
    "from history.individuals\norder by expired_at desc limit 100",
    "Messages an hour": "select date_trunc('hour', received_at) as hour, count(*) as messages\n"
    "from history.messages group by 1 order by 1",
    "Alerts by rule": "select rule, severity, count(*) as alerts\nfrom history.alerts\n"
    "group by 1, 2 order by 3 desc",
    "What held at a moment": "select subject, predicate, object, valid_from, valid_to\n"
    "from history.statements, (select max(valid_from) as moment from history.statements) last\n"
    "where valid_from <= moment and valid_to > moment limit 100",
    "Values that ended": "select subject, predicate, object, valid_from, valid_to\n"
    "from history.statements\norder by valid_to desc limit 100",
}
