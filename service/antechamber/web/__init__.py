"""The web: routes for agents, pages for people. Litestar, Jinja2 and argon2 live here and nowhere else."""
