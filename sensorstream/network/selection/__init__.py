"""TESLA's selection of events: each, first, last, absence and aggregates over scopes of time.

Source: Cugola, Margara, "TESLA: a Formally Defined Event Specification Language", 2010; Margara
et al., "DOTR", 2018, section 3.
"""
