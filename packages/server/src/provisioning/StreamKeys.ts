import { ingestPath, streamKeyHeader } from "@berth/api/provisioning/live-streams/LiveStreamsApi"
import type { IncomingMessage } from "node:http"

const hiddenKey = "-"

/** Moves the stream key of an ingest path to a header before the request is logged or traced. */
export const moveStreamKeyToHeader = (request: Pick<IncomingMessage, "headers" | "url">): void => {
  const { headers, url = "/" } = request
  if (!url.startsWith(ingestPath)) return
  const rest = url.slice(ingestPath.length)
  const key = rest.split(/[/?]/, 1)[0] ?? ""
  headers[streamKeyHeader] = key
  request.url = `${ingestPath}${hiddenKey}${rest.slice(key.length)}`
}
