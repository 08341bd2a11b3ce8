"""The engine's side of resumable steps: where they stand, where that is saved, and their shares."""
