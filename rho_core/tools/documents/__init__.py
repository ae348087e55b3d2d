"""Text of PDF files, office documents and spreadsheets (section 7)."""
