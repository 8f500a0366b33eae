"""Reports: one document (:func:`karat.experiments.report_document`) as Markdown, HTML, JUnit, CSV, LaTeX and for GitHub."""
