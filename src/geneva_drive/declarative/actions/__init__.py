"""What the steps of a document execute: `set`, `notify`, `webhook` and registered functions."""
