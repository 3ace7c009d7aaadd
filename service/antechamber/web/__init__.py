"""Routes for agents and pages for people; the only package that uses Litestar, Jinja2 and argon2."""
