"""The landscape as a browser draws it, without a server."""
