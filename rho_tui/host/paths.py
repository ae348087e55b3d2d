"""Where Rho keeps what on this machine."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class RhoPaths:
    """The folders of one user. Nothing is created here; whoever writes first creates."""

    config_dir: Path
    state_dir: Path

    @property
    def config_file(self) -> Path:
        """The user's configuration."""
        return self.config_dir / "config.toml"

    @property
    def credentials_file(self) -> Path:
        """Provider keys, used only when the user chose a file over the system's key store."""
        return self.config_dir / "credentials.toml"

    @property
    def sessions_dir(self) -> Path:
        """All stored sessions."""
        return self.state_dir / "sessions"

    @property
    def history_file(self) -> Path:
        """Prompts typed before, for recall."""
        return self.state_dir / "prompt-history.jsonl"

    @property
    def log_file(self) -> Path:
        """Where an unexpected error leaves its trace."""
        return self.state_dir / "rho.log"

    @classmethod
    def locate(cls, environ: Mapping[str, str] = os.environ) -> RhoPaths:
        """`RHO_HOME` holds everything when set; else the platform's own folders are used."""
        home = environ.get("RHO_HOME")
        if home:
            root = Path(home).expanduser().absolute()
            return cls(root, root)
        from platformdirs import user_config_path, user_state_path

        return cls(user_config_path("rho"), user_state_path("rho"))
