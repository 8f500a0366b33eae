"""Reports: the document of a decision, and that document as Markdown, HTML, JUnit, CSV and LaTeX."""

from karat.reports._comment import render_comment
from karat.reports._csv import render_csv
from karat.reports._document import FORMAT, conclude, read_document, schema
from karat.reports._failures import Failure, failures
from karat.reports._github import annotation, render_github, render_summary
from karat.reports._html import render_html
from karat.reports._json import render_json
from karat.reports._junit import render_junit
from karat.reports._latex import render_latex
from karat.reports._markdown import render_markdown
from karat.reports._recommendations import RULES, Recommendation, recommendations
from karat.reports._sparkline import Chart, Sparkline, bars, render_sparklines

__all__ = [
    "FORMAT",
    "RULES",
    "Chart",
    "Failure",
    "Recommendation",
    "Sparkline",
    "annotation",
    "bars",
    "conclude",
    "failures",
    "read_document",
    "recommendations",
    "render_comment",
    "render_csv",
    "render_github",
    "render_html",
    "render_json",
    "render_junit",
    "render_latex",
    "render_markdown",
    "render_sparklines",
    "render_summary",
    "schema",
]
