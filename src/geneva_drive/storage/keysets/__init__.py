"""Selects read in the order of a key: any select of the user's, from after the last row seen."""
