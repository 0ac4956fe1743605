"""A university's departments and the fourteen queries, after the Lehigh University Benchmark.

The shape and the numbers follow the benchmark's profile (Guo, Pan and Heflin: LUBM, Journal of
Web Semantics 3, 2005, appendix); the dice are ours, so the counts differ from its generator's.
What the ontology entails for the queries (superclasses, superproperties, inverse and transitive
properties) is written out: the departments are materialised.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Final, TypeAlias

Statement: TypeAlias = tuple[str, str, str]
"""Subject, predicate and object as N-Triples."""

_UB: Final = "http://swat.cse.lehigh.edu/onto/univ-bench.owl#"
_A: Final = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
_UNIVERSITY: Final = "http://www.University0.edu"
_CLASSES: Final = {
    "FullProfessor": ("Professor", "Faculty", "Employee", "Person"),
    "AssociateProfessor": ("Professor", "Faculty", "Employee", "Person"),
    "AssistantProfessor": ("Professor", "Faculty", "Employee", "Person"),
    "Chair": ("Professor", "Faculty", "Employee", "Person"),
    "Lecturer": ("Faculty", "Employee", "Person"),
    "UndergraduateStudent": ("Student", "Person"),
    "GraduateStudent": ("Student", "Person"),
    "GraduateCourse": ("Course", "Work"),
    "Course": ("Work",),
    "Department": ("Organization",),
    "ResearchGroup": ("Organization",),
    "University": ("Organization",),
    "Publication": (),
}
_FACULTY: Final = {
    "FullProfessor": ((7, 10), (15, 20)),
    "AssociateProfessor": ((10, 14), (10, 18)),
    "AssistantProfessor": ((8, 11), (5, 10)),
    "Lecturer": ((5, 7), (0, 5)),
}
"""How many of a kind a department has, and how many publications each."""

_PREFIX: Final = f"PREFIX ub: <{_UB}> "
_DEPARTMENT: Final = "http://www.Department0.University0.edu"
QUERIES: Final = tuple(
    f"{_PREFIX}SELECT {each}"
    for each in (
        f"?x {{ ?x a ub:GraduateStudent ; ub:takesCourse <{_DEPARTMENT}/GraduateCourse0> }}",
        "?x ?y ?z { ?x a ub:GraduateStudent . ?y a ub:University . ?z a ub:Department . "
        "?x ub:memberOf ?z . ?z ub:subOrganizationOf ?y . ?x ub:undergraduateDegreeFrom ?y }",
        f"?x {{ ?x a ub:Publication ; ub:publicationAuthor <{_DEPARTMENT}/AssistantProfessor0> }}",
        f"?x ?n ?e ?t {{ ?x a ub:Professor ; ub:worksFor <{_DEPARTMENT}> ; ub:name ?n ; "
        "ub:emailAddress ?e ; ub:telephone ?t }",
        f"?x {{ ?x a ub:Person ; ub:memberOf <{_DEPARTMENT}> }}",
        "?x { ?x a ub:Student }",
        "?x ?y { ?x a ub:Student ; ub:takesCourse ?y . ?y a ub:Course . "
        f"<{_DEPARTMENT}/AssociateProfessor0> ub:teacherOf ?y }}",
        "?x ?y ?e { ?x a ub:Student ; ub:memberOf ?y ; ub:emailAddress ?e . "
        f"?y a ub:Department ; ub:subOrganizationOf <{_UNIVERSITY}> }}",
        "?x ?y ?z { ?x a ub:Student ; ub:advisor ?y ; ub:takesCourse ?z . ?y a ub:Faculty ; "
        "ub:teacherOf ?z . ?z a ub:Course }",
        f"?x {{ ?x a ub:Student ; ub:takesCourse <{_DEPARTMENT}/GraduateCourse0> }}",
        f"?x {{ ?x a ub:ResearchGroup ; ub:subOrganizationOf <{_UNIVERSITY}> }}",
        f"?x ?y {{ ?x a ub:Chair ; ub:worksFor ?y . ?y a ub:Department ; "
        f"ub:subOrganizationOf <{_UNIVERSITY}> }}",
        f"?x {{ ?x a ub:Person . <{_UNIVERSITY}> ub:hasAlumnus ?x }}",
        "?x { ?x a ub:UndergraduateStudent }",
    )
)


def department_triples(number: int, seed: int = 2678) -> list[Statement]:
    """A department's statements, each once; the same for the same number."""
    return list(dict.fromkeys(_Department(number, random.Random(seed + number)).statements()))


class _Department:
    def __init__(self, number: int, dice: random.Random) -> None:
        self._base = f"http://www.Department{number}.University0.edu"
        self._number = number
        self._dice = dice

    def statements(self) -> Iterator[Statement]:
        dice, here, university = self._dice, f"<{self._base}>", f"<{_UNIVERSITY}>"
        yield from self._typed(here, "Department")
        yield from self._typed(university, "University")
        yield here, _ub("subOrganizationOf"), university
        yield here, _ub("name"), f'"Department{self._number}"'
        for group in range(dice.randint(10, 20)):
            it = self._name("ResearchGroup", group)
            yield from self._typed(it, "ResearchGroup")
            # subOrganizationOf is transitive.
            yield it, _ub("subOrganizationOf"), here
            yield it, _ub("subOrganizationOf"), university
        professors: list[tuple[str, list[str]]] = []
        courses: list[str] = []
        graduate_courses: list[str] = []
        faculty = 0
        for kind, (how_many, publications) in _FACULTY.items():
            for number in range(dice.randint(*how_many)):
                it, faculty = self._name(kind, number), faculty + 1
                yield from self._typed(it, kind)
                yield from self._person(it, kind, number)
                for link in ("worksFor", "memberOf"):
                    yield it, _ub(link), here
                if kind == "FullProfessor" and not number:
                    yield from self._typed(it, "Chair")
                    yield it, _ub("headOf"), here
                for degree in ("undergraduate", "masters", "doctoral"):
                    yield from self._degree(it, degree)
                taught: list[str] = []
                for made, course in ((courses, "Course"), (graduate_courses, "GraduateCourse")):
                    for _ in range(dice.randint(1, 2)):
                        taught.append(self._name(course, len(made)))
                        made.append(taught[-1])
                        yield from self._typed(taught[-1], course)
                        yield taught[-1], _ub("name"), f'"{course}{len(made) - 1}"'
                        yield it, _ub("teacherOf"), taught[-1]
                if kind != "Lecturer":
                    professors.append((it, taught))
                    yield it, _ub("researchInterest"), f'"Research{dice.randrange(30)}"'
                for each in range(dice.randint(*publications)):
                    publication = f"{it[:-1]}/Publication{each}>"
                    yield from self._typed(publication, "Publication")
                    yield publication, _ub("name"), f'"Publication{each}"'
                    yield publication, _ub("publicationAuthor"), it
        for kind, each_faculty, available, most in (
            ("UndergraduateStudent", dice.randint(8, 14), courses, 4),
            ("GraduateStudent", dice.randint(3, 4), graduate_courses, 3),
        ):
            for number in range(each_faculty * faculty):
                it = self._name(kind, number)
                yield from self._typed(it, kind)
                yield from self._person(it, kind, number)
                yield it, _ub("memberOf"), here
                takes = dice.sample(available, dice.randint(most - 2, most))
                if kind == "GraduateStudent":
                    yield from self._degree(it, "undergraduate")
                if kind == "GraduateStudent" or not dice.randrange(5):
                    advisor, taught = dice.choice(professors)
                    yield it, _ub("advisor"), advisor
                    if not dice.randrange(5):
                        takes.append(dice.choice(taught))
                for course in takes:
                    yield it, _ub("takesCourse"), course

    def _name(self, kind: str, number: int) -> str:
        return f"<{self._base}/{kind}{number}>"

    def _typed(self, it: str, kind: str) -> Iterator[Statement]:
        for each in (kind, *_CLASSES[kind]):
            yield it, _A, _ub(each)

    def _person(self, it: str, kind: str, number: int) -> Iterator[Statement]:
        yield it, _ub("name"), f'"{kind}{number}"'
        yield it, _ub("emailAddress"), f'"{kind}{number}@{self._base[11:]}"'
        yield it, _ub("telephone"), '"xxx-xxx-xxxx"'

    def _degree(self, it: str, degree: str) -> Iterator[Statement]:
        university = f"<http://www.University{self._dice.randrange(1000)}.edu>"
        if not self._dice.randrange(50):
            university = f"<{_UNIVERSITY}>"
        for link in (f"{degree}DegreeFrom", "degreeFrom"):
            yield it, _ub(link), university
        yield university, _ub("hasAlumnus"), it


def _ub(name: str) -> str:
    return f"<{_UB}{name}>"
