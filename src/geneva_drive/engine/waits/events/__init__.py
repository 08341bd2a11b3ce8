"""Waits for events and callbacks, and the delivery of events. Start with `event_delivery`."""
