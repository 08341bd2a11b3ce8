"""The actions of documents: `set`, `notify`, `webhook` and registered functions."""
