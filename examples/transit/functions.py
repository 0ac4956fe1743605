"""Functions that the rules call."""

_POINTS = ("N", "NE", "E", "SE", "S", "SW", "W", "NW")


def compass(degrees: str) -> str:
    """The point of the compass next to a bearing in degrees, clockwise from north."""
    bearing = float(degrees)
    if not 0 <= bearing <= 360:
        raise ValueError("expected 0 to 360 degrees")
    return _POINTS[int((bearing + 22.5) // 45) % 8]
