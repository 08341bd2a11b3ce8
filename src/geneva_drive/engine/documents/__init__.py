"""Documents as the engine finds them."""
