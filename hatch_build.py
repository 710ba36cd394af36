"""What a release says of itself beyond pyproject.toml: addresses of the project, absolute links.

A package page shows the README without the files beside it. With the repository's address, which
stands in pyproject.toml and nowhere else, its links lead to the files of the released version.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


def absolute_links(text: str, repository: str, tag: str) -> str:
    """Markdown whose links and pictures lead to the repository's files at a tag."""

    def absolute(link: re.Match[str]) -> str:
        kind = "raw" if link["picture"] else "blob"
        return f"{link['picture']}[{link['text']}]({repository}/{kind}/{tag}/{link['target']})"

    relative = r"(?P<picture>!?)\[(?P<text>[^\]]*)\]\((?!\w+:|#)(?P<target>[^)\s]+)\)"
    text = re.sub(relative, absolute, text)
    return re.sub(r'(?<=srcset=")(?!\w+:)', f"{repository}/raw/{tag}/", text)


class ReleaseMetadata(MetadataHookInterface):
    """Fills in ``readme`` and ``urls``; refuses a release whose links would lead nowhere. A
    candidate is installed from a clone, where they lead to its files."""

    def update(self, metadata: dict[str, Any]) -> None:
        repository, version = self.config["repository"].rstrip("/"), metadata["version"]
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        if repository:
            text = absolute_links(text, repository, f"v{version}")
            metadata["urls"] = {
                "Repository": repository,
                "Issues": f"{repository}/issues",
                "Changelog": f"{repository}/blob/v{version}/CHANGELOG.md",
            }
        elif not re.search("dev|rc", version):
            raise ValueError(
                f"version {version} is a release, and its README has relative links: set "
                "repository in [tool.hatch.metadata.hooks.custom] of pyproject.toml (see "
                "CONTRIBUTING.md, Release)"
            )
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
