"""What commands print about workflow documents."""
