"""What loops walk through: streams of pairs, an item and the cursor that says it is done."""
