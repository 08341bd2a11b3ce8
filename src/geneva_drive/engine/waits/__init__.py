"""What a node can wait for without holding a thread or a connection."""
