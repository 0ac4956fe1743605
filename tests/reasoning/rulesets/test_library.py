"""Each rule that comes with SensorStream, by one example."""

from __future__ import annotations

from collections import Counter

import pytest

from sensorstream.model import rdf, xsd
from sensorstream.model.vocabulary import CONTRADICTION
from sensorstream.reasoning.rulesets.rule_set import RuleSet, combined, renamed
from sensorstream.reasoning.rulesets.rule_set_reader import SUMMARIES, bundled_rules, text_of
from tests.reasoning.rulesets.graphs import graph
from tests.reasoning.rulesets.oracle import as_stored, closed, updates_of
from tests.reasoning.rulesets.world import concluded

ONE = '"1"^^xsd:nonNegativeInteger'
NONE = '"0"^^xsd:nonNegativeInteger'
ON_P = "owl:onProperty :p"
# By name: what must be known, and what follows. Each is of all sets that have a rule of this name.
EXAMPLES = {
    # RDF and RDFS
    "rdfD2": (":a :p :b", ":p a rdf:Property"),
    "rdf1": (":a :p 1", ":p a rdf:Property"),
    "rdfs2": (":p rdfs:domain :C . :a :p 1", ":a a :C"),
    "rdfs3": (":p rdfs:range :C . :a :p :b", ":b a :C"),
    "rdfs4a": (":a :p 1", ":a a rdfs:Resource"),
    "rdfs4b": (":a :p :b", ":b a rdfs:Resource"),
    "rdfs5": (":p rdfs:subPropertyOf :q . :q rdfs:subPropertyOf :r", ":p rdfs:subPropertyOf :r"),
    "rdfs6": (":p a rdf:Property", ":p rdfs:subPropertyOf :p"),
    "rdfs7": (":p rdfs:subPropertyOf :q . :a :p 1", ":a :q 1"),
    "rdfs7x": (":p rdfs:subPropertyOf :q . :a :p 1", ":a :q 1"),
    "rdfs8": (":C a rdfs:Class", ":C rdfs:subClassOf rdfs:Resource"),
    "rdfs9": (":C rdfs:subClassOf :D . :a a :C", ":a a :D"),
    "rdfs10": (":C a rdfs:Class", ":C rdfs:subClassOf :C"),
    "rdfs11": (":C rdfs:subClassOf :D . :D rdfs:subClassOf :E", ":C rdfs:subClassOf :E"),
    "rdfs12": (":p a rdfs:ContainerMembershipProperty", ":p rdfs:subPropertyOf rdfs:member"),
    "rdfs13": (":D a rdfs:Datatype", ":D rdfs:subClassOf rdfs:Literal"),
    # rho-df
    "2(a)": (":p rdfs:subPropertyOf :q . :q rdfs:subPropertyOf :r", ":p rdfs:subPropertyOf :r"),
    "2(b)": (":p rdfs:subPropertyOf :q . :a :p 1", ":a :q 1"),
    "3(a)": (":C rdfs:subClassOf :D . :D rdfs:subClassOf :E", ":C rdfs:subClassOf :E"),
    "3(b)": (":C rdfs:subClassOf :D . :a a :C", ":a a :D"),
    "4(a)": (":p rdfs:domain :C . :a :p 1", ":a a :C"),
    "4(b)": (":p rdfs:range :C . :a :p :b", ":b a :C"),
    "5(a)": (":p rdfs:domain :C . :q rdfs:subPropertyOf :p . :a :q 1", ":a a :C"),
    "5(b)": (":p rdfs:range :C . :q rdfs:subPropertyOf :p . :a :q :b", ":b a :C"),
    "6(a)": (":a :p 1", ":p rdfs:subPropertyOf :p"),
    "6(b)": (":p rdfs:subPropertyOf :q", ":p rdfs:subPropertyOf :p . :q rdfs:subPropertyOf :q"),
    "6(d) domain": (":p rdfs:domain :C", ":p rdfs:subPropertyOf :p"),
    "6(d) range": (":p rdfs:range :C", ":p rdfs:subPropertyOf :p"),
    "7(a)": (":C rdfs:subClassOf :D", ":C rdfs:subClassOf :C . :D rdfs:subClassOf :D"),
    "7(b) domain": (":p rdfs:domain :C", ":C rdfs:subClassOf :C"),
    "7(b) range": (":p rdfs:range :C", ":C rdfs:subClassOf :C"),
    "7(b) type": (":a a :C", ":C rdfs:subClassOf :C"),
    # pD*
    "rdfp1": (":p a owl:FunctionalProperty . :a :p :b, :c", ":b owl:sameAs :c"),
    "rdfp2": (":p a owl:InverseFunctionalProperty . :a :p 1 . :b :p 1", ":a owl:sameAs :b"),
    "rdfp3": (":p a owl:SymmetricProperty . :a :p :b", ":b :p :a"),
    "rdfp4": (":p a owl:TransitiveProperty . :a :p :b . :b :p :c", ":a :p :c"),
    "rdfp5a": (":a :p 1", ":a owl:sameAs :a"),
    "rdfp5b": (":a :p :b", ":b owl:sameAs :b"),
    "rdfp6": (":a owl:sameAs :b", ":b owl:sameAs :a"),
    "rdfp7": (":a owl:sameAs :b . :b owl:sameAs :c", ":a owl:sameAs :c"),
    "rdfp8ax": (":p owl:inverseOf :q . :a :p :b", ":b :q :a"),
    "rdfp8bx": (":p owl:inverseOf :q . :a :q :b", ":b :p :a"),
    "rdfp9": (":C a owl:Class ; owl:sameAs :D", ":C rdfs:subClassOf :D"),
    "rdfp10": (":p a rdf:Property ; owl:sameAs :q", ":p rdfs:subPropertyOf :q"),
    "rdfp11": (":a :p :b . :a owl:sameAs :c . :b owl:sameAs :d", ":c :p :d"),
    "rdfp12a": (":C owl:equivalentClass :D", ":C rdfs:subClassOf :D"),
    "rdfp12b": (":C owl:equivalentClass :D", ":D rdfs:subClassOf :C"),
    "rdfp12c": (":C rdfs:subClassOf :D . :D rdfs:subClassOf :C", ":C owl:equivalentClass :D"),
    "rdfp13a": (":p owl:equivalentProperty :q", ":p rdfs:subPropertyOf :q"),
    "rdfp13b": (":p owl:equivalentProperty :q", ":q rdfs:subPropertyOf :p"),
    "rdfp13c": (
        ":p rdfs:subPropertyOf :q . :q rdfs:subPropertyOf :p",
        ":p owl:equivalentProperty :q",
    ),
    "rdfp14a": (f":C owl:hasValue 1 ; {ON_P} . :a :p 1", ":a a :C"),
    "rdfp14bx": (f":C owl:hasValue 1 ; {ON_P} . :a a :C", ":a :p 1"),
    "rdfp15": (f":C owl:someValuesFrom :D ; {ON_P} . :a :p :b . :b a :D", ":a a :C"),
    "rdfp16": (f":C owl:allValuesFrom :D ; {ON_P} . :a a :C ; :p :b", ":b a :D"),
    # OWL 2 RL
    "eq-ref": (":a :p :b", ":a owl:sameAs :a . :p owl:sameAs :p . :b owl:sameAs :b"),
    "eq-sym": (":a owl:sameAs :b", ":b owl:sameAs :a"),
    "eq-trans": (":a owl:sameAs :b . :b owl:sameAs :c", ":a owl:sameAs :c"),
    "eq-rep-s": (":a owl:sameAs :b . :a :p 1", ":b :p 1"),
    "eq-rep-p": (":p owl:sameAs :q . :a :p 1", ":a :q 1"),
    "eq-rep-o": (":b owl:sameAs :c . :a :p :b", ":a :p :c"),
    "prp-dom": (":p rdfs:domain :C . :a :p 1", ":a a :C"),
    "prp-rng": (":p rdfs:range :C . :a :p :b", ":b a :C"),
    "prp-fp": (":p a owl:FunctionalProperty . :a :p :b, :c", ":b owl:sameAs :c"),
    "prp-ifp": (":p a owl:InverseFunctionalProperty . :a :p 1 . :b :p 1", ":a owl:sameAs :b"),
    "prp-symp": (":p a owl:SymmetricProperty . :a :p :b", ":b :p :a"),
    "prp-trp": (":p a owl:TransitiveProperty . :a :p :b . :b :p :c", ":a :p :c"),
    "prp-spo1": (":p rdfs:subPropertyOf :q . :a :p 1", ":a :q 1"),
    "prp-spo2": (
        ":p owl:propertyChainAxiom ( :q :r :q ) . :a :q :b . :b :r :c . :c :q 1",
        ":a :p 1",
    ),
    "prp-eqp1": (":p owl:equivalentProperty :q . :a :p 1", ":a :q 1"),
    "prp-eqp2": (":p owl:equivalentProperty :q . :a :q 1", ":a :p 1"),
    "prp-inv1": (":p owl:inverseOf :q . :a :p :b", ":b :q :a"),
    "prp-inv2": (":p owl:inverseOf :q . :a :q :b", ":b :p :a"),
    "prp-key": (
        ":C owl:hasKey ( :p :q ) . :a a :C ; :p 1 ; :q 2, 3 . :b a :C ; :p 1 ; :q 3 .",
        ":a owl:sameAs :b . :b owl:sameAs :a",
    ),
    "cls-int1": (":C owl:intersectionOf ( :D :E :F ) . :a a :D, :E, :F", ":a a :C"),
    "cls-int2": (":C owl:intersectionOf ( :D :E ) . :a a :C", ":a a :D, :E"),
    "cls-uni": (":C owl:unionOf ( :D :E ) . :a a :E . :b a :D", ":a a :C . :b a :C"),
    "cls-svf1": (f":C owl:someValuesFrom :D ; {ON_P} . :a :p :b . :b a :D", ":a a :C"),
    "dt-type2-svf1": (f":C owl:someValuesFrom xsd:byte ; {ON_P} . :a :p 7 . :b :p 777", ":a a :C"),
    "cls-svf2": (f":C owl:someValuesFrom owl:Thing ; {ON_P} . :a :p 1", ":a a :C"),
    "cls-avf": (f":C owl:allValuesFrom :D ; {ON_P} . :a a :C ; :p :b", ":b a :D"),
    "cls-hv1": (f":C owl:hasValue 1 ; {ON_P} . :a a :C", ":a :p 1"),
    "cls-hv2": (f":C owl:hasValue 1 ; {ON_P} . :a :p 1", ":a a :C"),
    "cls-maxc2": (
        f":C owl:maxCardinality {ONE} ; {ON_P} . :a a :C ; :p :b, :c",
        ":b owl:sameAs :c",
    ),
    "cls-maxqc3": (
        f":C owl:maxQualifiedCardinality {ONE} ; {ON_P} ; owl:onClass :D . :a a :C ; :p :b, :c . "
        ":b a :D . :c a :D",
        ":b owl:sameAs :c",
    ),
    "cls-maxqc4": (
        f":C owl:maxQualifiedCardinality {ONE} ; {ON_P} ; owl:onClass owl:Thing . "
        ":a a :C ; :p :b, :c",
        ":b owl:sameAs :c",
    ),
    "cls-oo": (":C owl:oneOf ( :a :b )", ":a a :C . :b a :C"),
    "cax-sco": (":C rdfs:subClassOf :D . :a a :C", ":a a :D"),
    "cax-eqc1": (":C owl:equivalentClass :D . :a a :C", ":a a :D"),
    "cax-eqc2": (":C owl:equivalentClass :D . :a a :D", ":a a :C"),
    "scm-cls": (
        ":C a owl:Class",
        ":C rdfs:subClassOf :C, owl:Thing ; owl:equivalentClass :C . "
        "owl:Nothing rdfs:subClassOf :C",
    ),
    "scm-sco": (":C rdfs:subClassOf :D . :D rdfs:subClassOf :E", ":C rdfs:subClassOf :E"),
    "scm-eqc1": (":C owl:equivalentClass :D", ":C rdfs:subClassOf :D . :D rdfs:subClassOf :C"),
    "scm-eqc2": (":C rdfs:subClassOf :D . :D rdfs:subClassOf :C", ":C owl:equivalentClass :D"),
    "scm-op": (":p a owl:ObjectProperty", ":p rdfs:subPropertyOf :p ; owl:equivalentProperty :p"),
    "scm-dp": (":p a owl:DatatypeProperty", ":p rdfs:subPropertyOf :p ; owl:equivalentProperty :p"),
    "scm-spo": (":p rdfs:subPropertyOf :q . :q rdfs:subPropertyOf :r", ":p rdfs:subPropertyOf :r"),
    "scm-eqp1": (
        ":p owl:equivalentProperty :q",
        ":p rdfs:subPropertyOf :q . :q rdfs:subPropertyOf :p",
    ),
    "scm-eqp2": (
        ":p rdfs:subPropertyOf :q . :q rdfs:subPropertyOf :p",
        ":p owl:equivalentProperty :q",
    ),
    "scm-dom1": (":p rdfs:domain :C . :C rdfs:subClassOf :D", ":p rdfs:domain :D"),
    "scm-dom2": (":q rdfs:domain :C . :p rdfs:subPropertyOf :q", ":p rdfs:domain :C"),
    "scm-rng1": (":p rdfs:range :C . :C rdfs:subClassOf :D", ":p rdfs:range :D"),
    "scm-rng2": (":q rdfs:range :C . :p rdfs:subPropertyOf :q", ":p rdfs:range :C"),
    "scm-hv": (
        f":C owl:hasValue 1 ; {ON_P} . :D owl:hasValue 1 ; owl:onProperty :q . "
        ":p rdfs:subPropertyOf :q",
        ":C rdfs:subClassOf :D",
    ),
    "scm-svf1": (
        f":C owl:someValuesFrom :E ; {ON_P} . :D owl:someValuesFrom :F ; {ON_P} . "
        ":E rdfs:subClassOf :F",
        ":C rdfs:subClassOf :D",
    ),
    "scm-svf2": (
        f":C owl:someValuesFrom :E ; {ON_P} . :D owl:someValuesFrom :E ; owl:onProperty :q . "
        ":p rdfs:subPropertyOf :q",
        ":C rdfs:subClassOf :D",
    ),
    "scm-avf1": (
        f":C owl:allValuesFrom :E ; {ON_P} . :D owl:allValuesFrom :F ; {ON_P} . "
        ":E rdfs:subClassOf :F",
        ":C rdfs:subClassOf :D",
    ),
    "scm-avf2": (
        f":C owl:allValuesFrom :E ; {ON_P} . :D owl:allValuesFrom :E ; owl:onProperty :q . "
        ":p rdfs:subPropertyOf :q",
        ":D rdfs:subClassOf :C",
    ),
    "scm-int": (":C owl:intersectionOf ( :D :E )", ":C rdfs:subClassOf :D, :E"),
    "container membership": (
        ":a rdf:_2 :b . :a rdf:_02 :b",
        "rdf:_2 a rdf:Property , rdfs:ContainerMembershipProperty ; rdfs:domain rdfs:Resource ;"
        " rdfs:range rdfs:Resource ; rdfs:subPropertyOf rdfs:member",
    ),
    "scm-uni": (":C owl:unionOf ( :D :E )", ":D rdfs:subClassOf :C . :E rdfs:subClassOf :C"),
    # SWCLOS2
    "rule1a": (":a :p 1", ":a a owl:Thing"),
    "rule1b": (":a :p :b", ":b a owl:Thing"),
    "rule2a": (":C owl:intersectionOf ( :D :E )", ":D a owl:Class . :E a owl:Class"),
    "rule2b": (":C owl:unionOf ( :D :E )", ":D a owl:Class . :E a owl:Class"),
    "rule3": ("[] owl:distinctMembers ( :a :b )", ":a a owl:Thing . :b a owl:Thing"),
    "rule4": (
        ":C owl:disjointWith :D . :E rdfs:subClassOf :C . :F rdfs:subClassOf :D",
        ":E owl:disjointWith :F",
    ),
    "rule5": (":C owl:complementOf :D", ":D owl:complementOf :C"),
    "rule6": (":C owl:complementOf :D", ":C owl:disjointWith :D"),
    "rule7": (":C owl:oneOf ( :a :b )", ":a a :C . :b a :C"),
    "rule8": (
        ":p a owl:SymmetricProperty ; rdfs:domain :C ; rdfs:range :D",
        ":C owl:equivalentClass :D",
    ),
    "rule9": (":p owl:equivalentProperty :q", ":q owl:equivalentProperty :p"),
    "rule10": (
        ":p owl:equivalentProperty :q . :q owl:equivalentProperty :r",
        ":p owl:equivalentProperty :r",
    ),
    "rule11a": (":p owl:equivalentProperty :q ; rdfs:domain :C", ":q rdfs:domain :C"),
    "rule11b": (":p owl:equivalentProperty :q ; rdfs:range :C", ":q rdfs:range :C"),
    "rule12a": (":p owl:inverseOf :q ; rdfs:domain :C", ":q rdfs:domain :C"),
    "rule12b": (":p owl:inverseOf :q ; rdfs:range :C", ":q rdfs:range :C"),
    "rule13": (":a owl:differentFrom :b", ":b owl:differentFrom :a"),
    "rule14": (":C owl:intersectionOf ( :D :E ) . :a a :D, :E", ":a a :C"),
}
# By name: what contradicts itself at :a, but only with what stands after the bar.
CONTRADICTIONS = {
    "eq-diff1": ":a owl:differentFrom :b . | :a owl:sameAs :b",
    "eq-diff2": "[] a owl:AllDifferent ; owl:members ( :a :b :c ) . | :a owl:sameAs :c",
    "eq-diff3": "[] a owl:AllDifferent ; owl:distinctMembers ( :a :b ) . | :a owl:sameAs :b",
    "prp-irp": ":p a owl:IrreflexiveProperty . :a :p :b . | :a :p :a",
    "prp-asyp": ":p a owl:AsymmetricProperty . :a :p :b . | :b :p :a",
    "prp-pdw": ":p owl:propertyDisjointWith :q . :a :p 1 . | :a :q 1",
    "prp-adp": "[] a owl:AllDisjointProperties ; owl:members (:p :q :r) . :a :p 1 . | :a :r 1",
    "prp-npa1": (
        "[] owl:sourceIndividual :a ; owl:assertionProperty :p ; owl:targetIndividual :b . "
        "| :a :p :b"
    ),
    "prp-npa2": (
        "[] owl:sourceIndividual :a ; owl:assertionProperty :p ; owl:targetValue 1 . | :a :p 1"
    ),
    "cls-nothing2": ":a a owl:Thing . | :a a owl:Nothing",
    "cls-com": ":C owl:complementOf :D . :a a :C . | :a a :D",
    "cls-maxc1": f":C owl:maxCardinality {NONE} ; {ON_P} . :a a :C . | :a :p 1",
    "cls-maxqc1": (
        f":C owl:maxQualifiedCardinality {NONE} ; {ON_P} ; owl:onClass :D . :a a :C ; :p :b . "
        "| :b a :D"
    ),
    "cls-maxqc2": (
        f":C owl:maxQualifiedCardinality {NONE} ; {ON_P} ; owl:onClass owl:Thing . :a a :C . "
        "| :a :p 1"
    ),
    "cax-dw": ":C owl:disjointWith :D . :a a :C . | :a a :D",
    "cax-adc": "[] a owl:AllDisjointClasses ; owl:members ( :C :D :E ) . :a a :C . | :a a :E",
    "dt-diff-fp": ":p a owl:FunctionalProperty . :a :p 1, 1.0 . | :a :p 2",
    "dt-diff-maxc2": f":C owl:maxCardinality {ONE} ; {ON_P} . :a a :C ; :p 1, 1.0 . | :a :p 2",
    "dt-not-type-rng": ":p rdfs:range xsd:string . :q rdfs:range :C . :a :p 'x' ; :q 1 . | :a :p 1",
    "dt-not-type-avf": (
        f":C owl:allValuesFrom xsd:nonNegativeInteger ; {ON_P} . :a a :C ; :p 7 . | :a :p -1"
    ),
    "ill-typed": ":a :p '7'^^xsd:int, 'x'^^:unknown . | :a :p ' 7'^^xsd:int",
    "range-clash": ":p rdfs:range xsd:string . :q rdfs:range :C . :a :p 'x' ; :q 1 . | :a :p 1",
    "oneof-condition-unsatisfiable": (
        ":C owl:oneOf ( :b :c ) . :a a :C ; owl:differentFrom :b . | :a owl:differentFrom :c"
    ),
    "sameas-condition-unsatisfiable": ":a owl:differentFrom :b . | :a owl:sameAs :b",
    "disjointwith-condition-unsatisfiable": (
        ":a owl:disjointWith :b . | :a owl:equivalentClass :b"
    ),
    "disjoint-instances-condition-unsatisfiable": (":C owl:disjointWith :D . :a a :C . | :a a :D"),
    "domain-condition-unsatisfiable": (
        ":C owl:disjointWith :D . :a rdfs:domain :C . | :a rdfs:domain :D"
    ),
    "range-condition-unsatisfiable": (
        ":C owl:disjointWith :D . :a rdfs:range :C . | :a rdfs:range :D"
    ),
    "complementof-condition-unsatisfiable": ":C owl:complementOf :D . :a a :C . | :a a :D",
}
SETS = {name: bundled_rules(name) for name in SUMMARIES}
RULES = [(name, rule) for name, rule_set in SETS.items() for rule in rule_set.rules]


def alone(name: str, rule: str) -> tuple[RuleSet, str]:
    """A rule of a set without the others, and its text."""
    whole = SETS[name]
    places = [number for number, each in enumerate(whole.rules) if each.name == rule]
    texts = [text for text in updates_of(text_of(name)) if "INSERT DATA" not in text]
    of_rule = RuleSet(rule, tuple(whole.rules[place] for place in places), (), whole.notes)
    return of_rule, "".join(f"{texts[place]} ;\n" for place in places)


@pytest.mark.parametrize(
    ("name", "rule"), [(name, rule.name) for name, rule in RULES if rule.name in EXAMPLES]
)
def test_a_rule_concludes_what_its_example_says(name: str, rule: str) -> None:
    known, follows = (graph(f"{text} .".replace(". .", ".")) for text in EXAMPLES[rule])
    of_rule, text = alone(name, rule)
    found = concluded(of_rule, known)
    assert follows <= found
    assert not follows <= known
    assert as_stored(found) == closed(text, known)


@pytest.mark.parametrize(
    ("name", "rule"), [(name, rule.name) for name, rule in RULES if rule.name in CONTRADICTIONS]
)
def test_a_contradiction_is_found_at_its_place(name: str, rule: str) -> None:
    consistent, _, more = CONTRADICTIONS[rule].partition("|")
    of_rule, text = alone(name, rule)
    assert not any(p == CONTRADICTION for _, p, _ in concluded(of_rule, graph(consistent)))
    known = graph(f"{consistent} {more} .")
    found = concluded(of_rule, known)
    (subject,) = {s for s, p, _ in found if p == CONTRADICTION and s.endswith("/a")}
    (told,) = {o for s, p, o in found if p == CONTRADICTION and s == subject}
    assert str(told).startswith(f'"{rule}: ')
    assert as_stored(found) == closed(text, known)


def test_each_literal_of_a_triple_gets_a_node_of_its_datatype() -> None:
    known = graph(":a :p 1 . :b :p 1 . :a :q :b")
    found = concluded(SETS["rdf-literals"], known) - known
    typed = {s: o for s, p, o in found if p == rdf.TYPE}
    assert set(typed.values()) == {xsd.INTEGER}
    assert {(s, p) for s, p, o in found if o in typed} == {
        (s, p) for s, p, o in known if p.endswith("p")
    }
    assert len(found) == 4


@pytest.mark.parametrize(
    ("rule", "written", "canonical"),
    [
        ("value-integer", '"01"^^xsd:integer', "1"),
        ("value-integer", '"+7.0"^^xsd:decimal', "7"),
        ("value-integer", '"007"^^xsd:unsignedByte', "7"),
        ("value-decimal", '"01.50"^^xsd:decimal', "1.5"),
        ("value-float", '"15"^^xsd:float', '"1.5E1"^^xsd:float'),
        ("value-float", '"1E400"^^xsd:float', '"INF"^^xsd:float'),
        ("value-double", '"0150E-1"^^xsd:double', "1.5E1"),
        ("value-boolean", '"1"^^xsd:boolean', "true"),
    ],
)
def test_what_is_said_of_a_literal_is_said_of_its_canonical_form(
    rule: str, written: str, canonical: str
) -> None:
    (new,) = graph(f":a :p {canonical}")
    (old,) = graph(f":a :p {written}")
    assert concluded(SETS["rdf-values"], {old}) == {old, new}
    assert rule in {each.name for name, each in RULES if name == "rdf-values"}


@pytest.mark.parametrize(
    "literal", ['"x"^^xsd:integer', '"01"', '"01"@en', '"01"^^:own', "7", "1.5", "1.5E1", "true"]
)
def test_what_has_no_other_canonical_form_stays_alone(literal: str) -> None:
    known = graph(f":a :p {literal} . :a :q :b")
    assert concluded(SETS["rdf-values"], known) == known


def test_values_in_two_forms_are_one_key() -> None:
    schema = ":C owl:hasKey ( :k )"
    known = graph(f'{schema} . :a a :C ; :k "01"^^xsd:integer . :b a :C ; :k "1.0"^^xsd:decimal')
    same = graph(":a owl:sameAs :b")
    assert not same <= concluded(SETS["owl2rl"], known)
    both = combined([SETS["owl2rl"], SETS["rdf-values"]])
    assert same <= concluded(both, known)


def test_each_rule_has_an_example() -> None:
    values = {rule.name for name, rule in RULES if name == "rdf-values"}
    shown = EXAMPLES.keys() | CONTRADICTIONS.keys() | {"rdfD1"} | values
    assert {rule.name for _, rule in RULES} == shown


def test_rules_of_one_name_are_the_same_in_all_sets() -> None:
    meanings = {(rule.name, renamed(rule)) for _, rule in RULES}
    assert [name for name, count in Counter(n for n, _ in meanings).items() if count > 1] == []


@pytest.mark.parametrize("name", SUMMARIES)
def test_each_rule_has_its_source_above_it(name: str) -> None:
    assert all(note.comment for note in SETS[name].notes.values())


@pytest.mark.parametrize("name", SUMMARIES)
def test_axioms_are_the_facts_of_the_text(name: str) -> None:
    facts = set(SETS[name].facts)
    told = [text for text in updates_of(text_of(name)) if "INSERT DATA" in text]
    assert facts == closed(" ;\n".join(told), []) if told else not facts
    assert bool(facts) == (name.endswith("axioms") or name == "rhodf")
