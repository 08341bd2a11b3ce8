"""One file or folder per page, with its routes. The template has the same name."""
