"""Documents as they are written: variants of the format, and the lines of a file."""
