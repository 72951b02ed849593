"""The sections of the page, one module each: what its template is filled with."""
