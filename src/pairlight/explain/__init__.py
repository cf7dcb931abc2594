"""Why two texts match: a scored pair becomes plain data, and the data a terminal's lines, a picture or a page."""
