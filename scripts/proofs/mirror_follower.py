"""A mirror in a process of its own, to be killed: python -m proofs.mirror_follower FILE URL.

The token is in the environment.
"""

import os
import sys

from antechamber.client import Submitter
from proofs.mirror_world import SCOPES

if __name__ == "__main__":
    file, url = sys.argv[1:]
    with Submitter(url, os.environ["ANTECHAMBER_TOKEN"]) as client, client.mirror(file, SCOPES) as mirror:
        mirror.follow()
