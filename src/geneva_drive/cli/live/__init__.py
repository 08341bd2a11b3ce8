"""The live view that `geneva watch` and `geneva demo` share."""
