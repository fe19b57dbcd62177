"""One page that shows a store: verdicts first, then numbers with what they were divided by and what was not run.

`evalframe report` and `Store.report` call this.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalframe.publish.charts import Spec
from evalframe.publish.page import Figure, page, tiles
from evalframe.publish.star import Star, star
from evalframe.relations import catalogue
from evalframe.underway import counted
from evalframe.verbs.arguments import loosely
from evalframe.verbs.comparisons import REPLICATES, comparisons
from evalframe.verbs.naming import listed
from evalframe.verbs.outputs import write_text
from evalframe.verbs.report_material import Material
from evalframe.verbs.report_sections import sections

if TYPE_CHECKING:
    from evalframe.store import Store

_TITLE = {"anchor": "start", "fontSize": 13, "offset": 8}


@dataclass(frozen=True, repr=False)
class Report:
    """The page, and the charts on it by caption."""

    html: str
    figures: tuple[Figure, ...]

    def __repr__(self) -> str:
        return f"Report({len(self.html)} characters, {len(self.figures)} charts)"

    def specs(self) -> dict[str, Spec]:
        """Vega-Lite specifications by number and caption, for notebooks: `altair.Chart.from_dict(spec)`."""
        return {f"{number:02d} {figure.caption}": figure.spec for number, figure in enumerate(self.figures, start=1)}

    def chart(self) -> Any:
        """Every chart as one `altair.VConcatChart`, for notebooks. Raises ExtraMissing without the extra `report`."""
        from evalframe.verbs.plots import chart

        return chart(self.specs())

    def _repr_html_(self) -> str:
        """The page in a frame of its own, where its scripts see nothing of the notebook."""
        return (
            '<iframe sandbox="allow-scripts" style="width: 100%; height: 80vh; border: 0" '
            f'srcdoc="{escape(self.html)}"></iframe>'
        )

    def write_png(self, folder: Path, *, width: int = 720, scale: float = 2.0) -> list[Path]:
        """Every chart as `<number>.png` in `folder`, drawn without a browser on white."""
        import vl_convert

        from evalframe.publish.page import VEGA_LITE
        from evalframe.verbs.outputs import write_bytes

        made = []
        for number, figure in enumerate(counted("charts", self.figures), start=1):
            spec = {**figure.spec, "width": width, "background": "white", "title": {"text": figure.caption, **_TITLE}}
            path = folder / f"{number:02d}.png"
            write_bytes(path, vl_convert.vegalite_to_png(spec, vl_version=VEGA_LITE, scale=scale), force=True)
            made.append(path)
        return made


@loosely
def report(
    store: Store,
    output: Path | None = None,
    *,
    baseline: str | None = None,
    candidates: Sequence[str] | str = (),
    protocol: str | None = None,
    replicates: int = REPLICATES,
    png: Path | None = None,
    force: bool = False,
) -> Report:
    """The page of a store, or of the comparison of `candidates` with `baseline`; written to `output`.

    protocol: only this one (name or name/version). replicates: draws of bootstrap and permutation. png: a folder for
    the charts as pictures. Raises ExtraMissing without the extra `report`, UnknownName for a run that is not there.
    """
    compared = comparisons(store, baseline, listed(candidates), protocol=protocol, replicates=replicates)
    named = None if baseline is None else frozenset(run for one in compared.comparisons for run in one.runs)
    with (
        star(store, catalogue(), [one.table for one in compared.comparisons]) as whole,
        Material.of(store, whole, compared, protocol, named) as material,
    ):
        made = sections(material)
        html = page("evalframe report", _lead(whole), made, [tiles(_counts(material))])
    figures = [block for section in made for block in section.blocks if not hasattr(block, "text")]
    flat = [figure for block in figures for figure in (block if isinstance(block, list) else [block])]
    done = Report(html, tuple(figure for figure in flat if isinstance(figure, Figure)))
    if output is not None:
        write_text(output, html, force=force)
    if png is not None:
        done.write_png(png)
    return done


def _lead(whole: Star) -> str:
    return f"Every number with the identity of the protocol that made it. Content {whole.digest[:16]}."


def _counts(material: Material) -> dict[str, object]:
    return {
        "runs": material.count("dim_run"),
        "protocol fingerprints": len(material.protocols),
        "comparisons": sum(len(one.request.candidates) for one in material.compared.comparisons),
        "tainted runs": material.count("dim_run WHERE tainted"),
    }
