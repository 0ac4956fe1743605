"""The paper's evaluation, section 5: its table 1 and figures 3 to 6, and what it left out."""
