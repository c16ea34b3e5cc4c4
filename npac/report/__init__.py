"""Plans and pictures of programs: analyses, tables, and drawings as SVG, Mermaid and DOT."""
