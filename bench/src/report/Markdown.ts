export interface MarkdownTable {
  readonly title: string
  readonly columns: ReadonlyArray<string>
  readonly rows: ReadonlyArray<ReadonlyArray<string>>
  readonly note?: string
}

const line = (cells: ReadonlyArray<string>, widths: ReadonlyArray<number>) =>
  `| ${cells.map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0))).join(" | ")} |`

const rule = (widths: ReadonlyArray<number>) =>
  `| ${widths.map((width, column) => (column === 0 ? "-".repeat(width) : `${"-".repeat(width - 1)}:`)).join(" | ")} |`

/** Left-aligns the first column and right-aligns the others. */
export const renderMarkdown = ({ columns, note, rows, title }: MarkdownTable): string => {
  const widths = columns.map((name, column) =>
    Math.max(3, name.length, ...rows.map((cells) => (cells[column] ?? "").length))
  )
  return [
    `### ${title}`,
    "",
    line(columns, widths),
    rule(widths),
    ...rows.map((cells) => line(cells, widths)),
    ...(note === undefined ? [] : ["", note]),
    ""
  ].join("\n")
}
