"""Individual-based windows over the stream: which individuals stay and which leave."""
