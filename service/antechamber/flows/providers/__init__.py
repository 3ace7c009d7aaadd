"""Sign-in of people at providers of OpenID Connect: their documents and keys, and the sign-in itself."""
