"""Print the license of each package of the environment that runs this; `scripts/release` keeps the list."""

import sys
from importlib.metadata import Distribution, distributions


def license_of(package: Distribution) -> str:
    """Return the license that a package's metadata names, or an empty text.

    The expression (PEP 639) comes first, then the first line of the old field, then the classifiers.
    """
    metadata = package.metadata
    old = (metadata.get("License") or "").strip().partition("\n")[0]
    classifiers = [line.split(" :: ") for line in metadata.get_all("Classifier") or []]
    named = [parts[-1] for parts in classifiers if parts[0] == "License"]
    return metadata.get("License-Expression") or old or " and ".join(named)


def main() -> None:
    """Print one line for each package, sorted by name; fail if a package names no license."""
    lines = sorted(
        f"{package.metadata['Name'].lower()} {package.version}: {license_of(package)}" for package in distributions()
    )
    print("\n".join(lines))
    if unnamed := [line for line in lines if line.endswith(": ")]:
        sys.exit(f"no license is named by {', '.join(unnamed)}")


if __name__ == "__main__":
    main()
