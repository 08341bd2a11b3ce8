"""What requests carry and what answers say."""
