"""The peer data-olympus, a governed knowledge base; proposals await a person and are on disk when answered.

Its own program listens on every address; this serves the same application on the requested one.
"""

from data_olympus.config import load_config
from data_olympus.server import build_app_from_config

app = build_app_from_config(load_config(), bootstrap_now=True).http_app(
    transport="streamable-http", allowed_hosts=["127.0.0.1", "127.0.0.1:*"]
)
