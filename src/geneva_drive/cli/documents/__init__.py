"""Documents as the commands read and print them."""
