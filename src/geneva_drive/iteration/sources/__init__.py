"""Sources of loops: streams of (item, cursor) pairs; the cursor says that its item is done."""
