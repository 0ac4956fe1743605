"""The loop (Algorithm 1 of the paper): message in, outcome out, no I/O."""
