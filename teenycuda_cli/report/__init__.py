"""What people see: tables, JSON documents, snippets, heatmaps, progress. The only importer of rich."""
