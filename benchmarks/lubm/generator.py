"""Universities' departments and the fourteen queries, after the Lehigh University Benchmark.

The shape and the numbers follow the benchmark's profile (Guo, Pan and Heflin: LUBM, Journal of
Web Semantics 3, 2005, appendix; its generator UBA 1.7); the dice are ours, so the counts differ
from its generator's.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

Statement: TypeAlias = tuple[str, str, str]
"""Subject, predicate and object as N-Triples."""

UNIVERSITY: Final = "http://swat.cse.lehigh.edu/onto/univ-bench.owl#"
_A: Final = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
_FIRST_UNIVERSITY: Final = "http://www.University0.edu"
_CLASSES_ABOVE: Final = {
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
    "TeachingAssistant": ("Person",),
    "ResearchAssistant": ("Student", "Person"),
}
_PROPERTIES_ABOVE: Final = {
    "headOf": ("worksFor", "memberOf"),
    "worksFor": ("memberOf",),
    "undergraduateDegreeFrom": ("degreeFrom",),
    "mastersDegreeFrom": ("degreeFrom",),
    "doctoralDegreeFrom": ("degreeFrom",),
}
_FACULTY: Final = {
    "FullProfessor": ((7, 10), (15, 20)),
    "AssociateProfessor": ((10, 14), (10, 18)),
    "AssistantProfessor": ((8, 11), (5, 10)),
    "Lecturer": ((5, 7), (0, 5)),
}
"""How many of a kind a department has, and how many publications each."""

_PREFIX: Final = f"PREFIX ub: <{UNIVERSITY}> "
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
        f"?y a ub:Department ; ub:subOrganizationOf <{_FIRST_UNIVERSITY}> }}",
        "?x ?y ?z { ?x a ub:Student ; ub:advisor ?y ; ub:takesCourse ?z . ?y a ub:Faculty ; "
        "ub:teacherOf ?z . ?z a ub:Course }",
        f"?x {{ ?x a ub:Student ; ub:takesCourse <{_DEPARTMENT}/GraduateCourse0> }}",
        f"?x {{ ?x a ub:ResearchGroup ; ub:subOrganizationOf <{_FIRST_UNIVERSITY}> }}",
        f"?x ?y {{ ?x a ub:Chair ; ub:worksFor ?y . ?y a ub:Department ; "
        f"ub:subOrganizationOf <{_FIRST_UNIVERSITY}> }}",
        f"?x {{ ?x a ub:Person . <{_FIRST_UNIVERSITY}> ub:hasAlumnus ?x }}",
        "?x { ?x a ub:UndergraduateStudent }",
    )
)


def departments(universities: int, seed: int = 2678) -> Iterator[list[Statement]]:
    """The departments of universities, one university after the other."""
    for university in range(universities):
        for number in range(random.Random(seed + university).randint(15, 25)):
            yield department(number, university, seed)


def department(number: int, university: int = 0, seed: int = 2678) -> list[Statement]:
    """A department's statements, each once; the same for the same numbers."""
    dice = random.Random(seed + number + 1000 * university)
    return list(dict.fromkeys(_Department(number, university, dice).statements()))


def materialised(said: Iterable[Statement]) -> list[Statement]:
    """A department's statements, and what the ontology entails of them for the queries.

    That are superclasses, superproperties, the inverse and the transitive property, and that the
    head of a department is a chair.
    """
    return list(dict.fromkeys(_with_entailed(said)))


def _with_entailed(said: Iterable[Statement]) -> Iterator[Statement]:
    named = len(_ub("")) - 1
    university = ""
    for subject, predicate, object_ in said:
        yield subject, predicate, object_
        if predicate == _A:
            for above in _CLASSES_ABOVE[object_[named:-1]]:
                yield subject, _A, _ub(above)
            continue
        for above in _PROPERTIES_ABOVE.get(predicate[named:-1], ()):
            yield subject, _ub(above), object_
            if above == "degreeFrom":
                yield object_, _ub("hasAlumnus"), subject
        if predicate == _ub("headOf"):
            for kind in ("Chair", *_CLASSES_ABOVE["Chair"]):
                yield subject, _A, _ub(kind)
        if predicate == _ub("subOrganizationOf"):
            # The department itself comes first, then its groups.
            university = university or object_
            yield subject, predicate, university


def text_of(said: Iterable[Statement]) -> str:
    """Statements in N-Triples."""
    return "".join(f"{s} {p} {o} .\n" for s, p, o in said)


class _Department:
    def __init__(self, number: int, university: int, dice: random.Random) -> None:
        self._university = f"<http://www.University{university}.edu>"
        self._base = f"http://www.Department{number}.University{university}.edu"
        self._number = number
        self._dice = dice

    def statements(self) -> Iterator[Statement]:
        dice, here = self._dice, f"<{self._base}>"
        yield self._typed(here, "Department")
        yield self._typed(self._university, "University")
        yield here, _ub("subOrganizationOf"), self._university
        yield here, _ub("name"), f'"Department{self._number}"'
        groups = [self._name("ResearchGroup", each) for each in range(dice.randint(10, 20))]
        for it in groups:
            yield self._typed(it, "ResearchGroup")
            yield it, _ub("subOrganizationOf"), here
        professors: list[tuple[str, list[str]]] = []
        courses: list[str] = []
        graduate_courses: list[str] = []
        publications: list[str] = []
        faculty = 0
        for kind, (how_many, written) in _FACULTY.items():
            for number in range(dice.randint(*how_many)):
                it, faculty = self._name(kind, number), faculty + 1
                yield self._typed(it, kind)
                yield from self._person(it, kind, number)
                yield it, _ub("worksFor"), here
                if kind == "FullProfessor" and not number:
                    yield it, _ub("headOf"), here
                for degree in ("undergraduate", "masters", "doctoral"):
                    yield from self._degree(it, degree)
                taught: list[str] = []
                for made, course in ((courses, "Course"), (graduate_courses, "GraduateCourse")):
                    for _ in range(dice.randint(1, 2)):
                        taught.append(self._name(course, len(made)))
                        made.append(taught[-1])
                        yield self._typed(taught[-1], course)
                        yield taught[-1], _ub("name"), f'"{course}{len(made) - 1}"'
                        yield it, _ub("teacherOf"), taught[-1]
                if kind != "Lecturer":
                    professors.append((it, taught))
                    yield it, _ub("researchInterest"), f'"Research{dice.randrange(30)}"'
                for each in range(dice.randint(*written)):
                    publication = f"{it[:-1]}/Publication{each}>"
                    publications.append(publication)
                    yield self._typed(publication, "Publication")
                    yield publication, _ub("name"), f'"Publication{each}"'
                    yield publication, _ub("publicationAuthor"), it
        for number in range(dice.randint(8, 14) * faculty):
            it = self._name("UndergraduateStudent", number)
            yield self._typed(it, "UndergraduateStudent")
            yield from self._student(it, "UndergraduateStudent", number)
            takes = dice.sample(courses, dice.randint(2, 4))
            if not dice.randrange(5):
                yield from self._advised(it, professors, takes)
            for course in takes:
                yield it, _ub("takesCourse"), course
        graduates = dice.randint(3, 4) * faculty
        assisted = iter(dice.sample([*courses, *graduate_courses], graduates // 5))
        for number in range(graduates):
            it = self._name("GraduateStudent", number)
            yield self._typed(it, "GraduateStudent")
            yield from self._student(it, "GraduateStudent", number)
            yield from self._degree(it, "undergraduate")
            takes = dice.sample(graduate_courses, dice.randint(1, 3))
            yield from self._advised(it, professors, takes)
            for course in takes:
                yield it, _ub("takesCourse"), course
            for publication in dice.sample(publications, dice.randint(0, 5)):
                yield publication, _ub("publicationAuthor"), it
            if number < graduates // 5:
                yield self._typed(it, "TeachingAssistant")
                yield it, _ub("teachingAssistantOf"), next(assisted)
            elif number < graduates // 2:
                yield self._typed(it, "ResearchAssistant")
                yield it, _ub("worksFor"), dice.choice(groups)

    def _name(self, kind: str, number: int) -> str:
        return f"<{self._base}/{kind}{number}>"

    def _typed(self, it: str, kind: str) -> Statement:
        return it, _A, _ub(kind)

    def _person(self, it: str, kind: str, number: int) -> Iterator[Statement]:
        yield it, _ub("name"), f'"{kind}{number}"'
        yield it, _ub("emailAddress"), f'"{kind}{number}@{self._base[11:]}"'
        yield it, _ub("telephone"), '"xxx-xxx-xxxx"'

    def _student(self, it: str, kind: str, number: int) -> Iterator[Statement]:
        yield from self._person(it, kind, number)
        yield it, _ub("memberOf"), f"<{self._base}>"

    def _advised(
        self, it: str, professors: list[tuple[str, list[str]]], takes: list[str]
    ) -> Iterator[Statement]:
        """Give a student an advisor, and one of five a course of the advisor's."""
        advisor, taught = self._dice.choice(professors)
        yield it, _ub("advisor"), advisor
        if not self._dice.randrange(5):
            takes.append(self._dice.choice(taught))

    def _degree(self, it: str, degree: str) -> Iterator[Statement]:
        university = f"<http://www.University{self._dice.randrange(1000)}.edu>"
        if not self._dice.randrange(50):
            university = self._university
        yield it, _ub(f"{degree}DegreeFrom"), university
        yield self._typed(university, "University")


def _ub(name: str) -> str:
    return f"<{UNIVERSITY}{name}>"
