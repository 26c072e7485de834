import { Either, Option, Schema } from "effect"
import { readFileSync } from "node:fs"
import { SourceMap } from "node:module"
import { escapeXml } from "./Chart.ts"

const CallFrame = Schema.Struct({
  functionName: Schema.String,
  scriptId: Schema.String,
  url: Schema.String,
  lineNumber: Schema.Int,
  columnNumber: Schema.Int
})

/** The profile of V8's inspector; other viewers read it too. */
export const CpuProfile = Schema.Struct({
  nodes: Schema.Array(
    Schema.Struct({
      id: Schema.Int,
      callFrame: CallFrame,
      children: Schema.optional(Schema.Array(Schema.Int))
    })
  ),
  startTime: Schema.Number,
  endTime: Schema.Number,
  samples: Schema.Array(Schema.Int),
  timeDeltas: Schema.Array(Schema.Number)
})
export type CpuProfile = typeof CpuProfile.Type

interface Frame {
  readonly label: string
  /** Microseconds, with those of the callees. */
  time: number
  readonly callees: Map<string, Frame>
}

const Payload = Schema.parseJson(
  Schema.Struct({
    version: Schema.Int,
    sources: Schema.mutable(Schema.Array(Schema.String)),
    names: Schema.mutable(Schema.Array(Schema.String)),
    mappings: Schema.String
  })
)

/** Only bundles have a map. */
const readSourceMap = (url: string): Option.Option<SourceMap> =>
  Either.try(() => readFileSync(`${url.replace("file://", "")}.map`, "utf8")).pipe(
    Either.flatMap(Schema.decodeEither(Payload)),
    Either.map((payload) => new SourceMap({ ...payload, file: "", sourcesContent: [], sourceRoot: "" })),
    Option.getRight
  )

/** Names of functions by the source maps of their bundles. */
const makeNaming = () => {
  const maps = new Map<string, Option.Option<SourceMap>>()
  return ({ columnNumber, functionName, lineNumber, url }: typeof CallFrame.Type) => {
    if (!maps.has(url)) maps.set(url, readSourceMap(url))
    const entry = Option.getOrUndefined(maps.get(url) ?? Option.none())?.findEntry(lineNumber, columnNumber)
    const name = functionName || "(anonymous)"
    if (entry === undefined || !("originalSource" in entry)) return `${name} ${url}`.trim()
    const source = entry.originalSource.replace(/^(?:.*\/node_modules\/|(?:\.\.\/)+)/, "")
    return `${"name" in entry && typeof entry.name === "string" ? entry.name : name} ${source}:${entry.originalLine + 1}`
  }
}

/** Idle time, and the time that the profiler takes to start. */
const isLeftOut = ({ functionName, url }: typeof CallFrame.Type) =>
  /^\((?:idle|program)\)$/.test(functionName) || url.includes("ProfiledProcess")

/** Merges calls of the same function on the same path into one tree. */
const mergeCalls = ({ nodes, samples, timeDeltas }: CpuProfile): Frame => {
  const nameOf = makeNaming()
  const nodeOf = new Map(nodes.map((node) => [node.id, node]))
  const ownTime = new Map<number, number>()
  for (const [index, id] of samples.entries()) ownTime.set(id, (ownTime.get(id) ?? 0) + (timeDeltas[index] ?? 0))
  const merge = (id: number, into: Frame): number => {
    const { callFrame, children = [] } = nodeOf.get(id) ?? { callFrame: undefined }
    if (callFrame === undefined || isLeftOut(callFrame)) return 0
    const label = nameOf(callFrame)
    const frame = into.callees.get(label) ?? { label, time: 0, callees: new Map() }
    into.callees.set(label, frame)
    const time = children.reduce((sum, child) => sum + merge(child, frame), ownTime.get(id) ?? 0)
    frame.time += time
    return time
  }
  const all: Frame = { label: "all", time: 0, callees: new Map() }
  for (const child of nodes[0]?.children ?? []) all.time += merge(child, all)
  return all
}

const width = 1600
const rowHeight = 16
/** Narrower calls are left out, in pixels. */
const narrowest = 0.5

const drawFrame = (frame: Frame, x: number, depth: number, scale: number, total: number): ReadonlyArray<string> => {
  const size = frame.time * scale
  if (size < narrowest) return []
  const y = depth * rowHeight
  const share = `${frame.label} ${((100 * frame.time) / total).toFixed(1)} %`
  const text = frame.label.slice(0, Math.floor(size / 6))
  let left = x
  return [
    `<g><title>${escapeXml(share)}</title><rect x="${x.toFixed(1)}" y="${y}" width="${size.toFixed(1)}" height="15" class="${classOf(frame.label)}"/>`,
    `${text.length < 3 ? "" : `<text x="${(x + 2).toFixed(1)}" y="${y + 11}">${escapeXml(text)}</text>`}</g>`,
    ...[...frame.callees.values()]
      .sort((a, b) => b.time - a.time)
      .flatMap((callee) => {
        const drawn = drawFrame(callee, left, depth + 1, scale, total)
        left += callee.time * scale
        return drawn
      })
  ]
}

const classOf = (label: string) =>
  / packages\//.test(label) ? "own" : / effect|@effect/.test(label) ? "effect" : / node:/.test(label) ? "node" : "other"

const depthOf = (frame: Frame, scale: number): number =>
  frame.time * scale < narrowest ? 0 : 1 + Math.max(0, ...[...frame.callees.values()].map((it) => depthOf(it, scale)))

const style = `text{font:10px system-ui,sans-serif;fill:#222}rect{stroke:#fff;stroke-width:.5}
.own{fill:#e08a4f}.effect{fill:#f0c674}.node{fill:#9fc3a8}.other{fill:#b9c6cf}`

/** Draws a profile as an SVG document: a call is as wide as its share of the busy time, below its caller. */
export const renderFlameGraph = (title: string, profile: CpuProfile): string => {
  const all = mergeCalls(profile)
  const scale = width / Math.max(1, all.time)
  const height = (depthOf(all, scale) + 2) * rowHeight
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">`,
    `<style>${style}</style><path fill="#fff" d="M0 0h${width}v${height}H0z"/>`,
    `<text x="2" y="11">${escapeXml(`${title}: ${Math.round(all.time / 1000)} ms busy`)}</text>`,
    ...drawFrame(all, 0, 1, scale, all.time),
    "</svg>\n"
  ].join("\n")
}
