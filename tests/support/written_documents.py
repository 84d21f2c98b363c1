"""Documents to read: a PDF, a DOCX and an HTML page, made here."""

from __future__ import annotations

import io

import docx
import pypdf

__all__ = ["HTML", "docx_of", "pdf_of"]


def pdf_of(*pages: str) -> bytes:
    """Return a PDF with one line of text per page."""
    writer = pypdf.PdfWriter()
    font = pypdf.generic.DictionaryObject(
        {
            pypdf.generic.NameObject("/Type"): pypdf.generic.NameObject("/Font"),
            pypdf.generic.NameObject("/Subtype"): pypdf.generic.NameObject("/Type1"),
            pypdf.generic.NameObject("/BaseFont"): pypdf.generic.NameObject(
                "/Helvetica"
            ),
        }
    )
    for text in pages:
        page = writer.add_blank_page(300, 300)
        stream = pypdf.generic.DecodedStreamObject()
        stream.set_data(f"BT /F1 12 Tf 10 200 Td ({text}) Tj ET".encode())
        page[pypdf.generic.NameObject("/Contents")] = writer._add_object(stream)
        page[pypdf.generic.NameObject("/Resources")] = pypdf.generic.DictionaryObject(
            {
                pypdf.generic.NameObject("/Font"): pypdf.generic.DictionaryObject(
                    {pypdf.generic.NameObject("/F1"): writer._add_object(font)}
                )
            }
        )
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def docx_of() -> bytes:
    document = docx.Document()
    document.add_heading("合同", 1)
    document.add_paragraph("Delivery within 30 days.")
    table = document.add_table(1, 2)
    table.cell(0, 0).text, table.cell(0, 1).text = "price", "42"
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


HTML = (
    "<html><head><title>Guide</title><style>p{}</style></head><body><h2>Use</h2>"
    "<p>One <b>two</b></p><script>evil()</script><ul><li>a</li><li>b</li></ul>"
    "<table><tr><th>k</th><td>v</td></tr></table><pre>x\ny</pre></body></html>"
)
