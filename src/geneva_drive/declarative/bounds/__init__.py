"""What an expression may cost."""
