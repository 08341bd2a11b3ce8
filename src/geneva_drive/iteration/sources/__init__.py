"""Sources of loops: streams of (item, cursor) pairs, where the cursor means "this item is done"."""
