"""The rules of DOTR: patterns over what SPARQL finds at each moment, and Datalog.

Source: Margara et al., "Efficient Temporal Reasoning on Streams of Events with DOTR", 2018.
"""
