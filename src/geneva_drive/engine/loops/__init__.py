"""The engine's side of resumable steps: run a loop, save its cursor, skip failed items."""
