/** Tables of Markdown, for the pages that tools write. */

/**
 * A table of Markdown whose columns stand under each other, as the formatter of the project wants them. The first row
 * holds the titles; every row has as many cells.
 */
export function formatMarkdownTable(rows: readonly (readonly string[])[]): string {
  const [titles = [], ...others] = rows;
  const widths = titles.map((_, column) => Math.max(3, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`;
  return [titles, widths.map((width) => "-".repeat(width)), ...others].map(line).join("\n");
}
