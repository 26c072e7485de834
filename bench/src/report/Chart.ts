import { formatFigure } from "./Figure.ts"

interface ChartBar {
  readonly label: string
  readonly value: number
  /** Target value, drawn as a line. */
  readonly aim?: number
  /** The baseline of a comparison is drawn paler. */
  readonly isBaseline?: boolean
}

export interface ChartPanel {
  readonly title: string
  readonly unit: string
  readonly bars: ReadonlyArray<ChartBar>
}

const width = 760
const left = 230
const right = 110
const barHeight = 18
const titleHeight = 34

export const escapeXml = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")

const heightOf = ({ bars }: ChartPanel) => titleHeight + bars.length * barHeight + 14

const drawBar = (bar: ChartBar, unit: string, y: number, scale: (value: number) => number) => {
  const aim = bar.aim === undefined ? "" : `<path d="M${left + scale(bar.aim)} ${y}v${barHeight - 4}" class="aim"/>`
  const label = `${formatFigure(bar.value)} ${unit}${bar.aim === undefined ? "" : ` (aim ${formatFigure(bar.aim)})`}`
  return [
    `<text x="${left - 8}" y="${y + 11}" class="label">${escapeXml(bar.label)}</text>`,
    `<rect x="${left}" y="${y}" width="${Math.max(1, scale(bar.value))}" height="${barHeight - 4}"${bar.isBaseline === true ? ' class="baseline"' : ""}/>`,
    aim,
    `<text x="${left + scale(Math.max(bar.value, bar.aim ?? 0)) + 6}" y="${y + 11}">${escapeXml(label)}</text>`
  ].join("")
}

const drawPanel = (panel: ChartPanel, top: number) => {
  const largest = Math.max(...panel.bars.flatMap(({ aim, value }) => [value, aim ?? 0]), Number.MIN_VALUE)
  const scale = (value: number) => Math.round(((width - left - right) * value) / largest)
  return [
    `<text x="12" y="${top + 20}" class="title">${escapeXml(panel.title)}</text>`,
    ...panel.bars.map((bar, index) => drawBar(bar, panel.unit, top + titleHeight + index * barHeight, scale))
  ].join("\n")
}

const style = `text{font:11px system-ui,sans-serif;fill:#222}.title{font-weight:600;font-size:13px}.label{text-anchor:end}
rect{fill:#2f6f9f}.baseline{fill:#b9c6cf}.aim{stroke:#c0392b;stroke-width:2}`

/** Draws panels of horizontal bars as an SVG document. Each panel has its own scale. */
export const renderChart = (panels: ReadonlyArray<ChartPanel>): string => {
  const tops = panels.map((_, index) => panels.slice(0, index).reduce((sum, panel) => sum + heightOf(panel), 8))
  const height = panels.reduce((sum, panel) => sum + heightOf(panel), 16)
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">`,
    `<style>${style}</style>`,
    `<path fill="#fff" d="M0 0h${width}v${height}H0z"/>`,
    ...panels.map((panel, index) => drawPanel(panel, tops[index] ?? 0)),
    "</svg>\n"
  ].join("\n")
}
