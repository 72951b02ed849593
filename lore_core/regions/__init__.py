"""Sets of rows: found or drawn, what is true of them, what they are made of, how to mend them."""
