"""Notebooks with parameters → an executed notebook and one offline HTML file.

papermill and nbconvert are imported when a report is made, never before.
"""

from .making import TEMPLATES, report, template_path

__all__ = ["TEMPLATES", "report", "template_path"]
