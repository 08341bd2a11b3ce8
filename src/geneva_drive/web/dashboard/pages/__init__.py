"""One file per page: its routes and what they show. The template has the same name."""
