"""Examples must not show what one version of a booster says on the side."""

from importlib.metadata import version


class Silent:
    def info(self, message: str) -> None: ...

    warning = info


if version("lightgbm").startswith("4.4."):  # talks under a custom objective, whatever verbosity=
    import lightgbm

    lightgbm.register_logger(Silent())
