"""Waits for events and callbacks, and how events find them. Start with `event_delivery`."""
