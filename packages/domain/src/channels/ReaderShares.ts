import type { ChannelConnection } from "./ChannelConnection.ts"

/** A connection with a reader, or one to start a reader for. */
export type ReaderCandidate = Pick<ChannelConnection, "agentId" | "ownerId" | "platform">

/**
 * Shares `maximum` readers fairly among the owners: each owner's first connection, then each owner's second. Running
 * readers come before others, so that the result is stable without changes.
 */
export const planReaders = <Running extends ReaderCandidate, Unread extends ReaderCandidate>(
  running: ReadonlyArray<Running>,
  unread: ReadonlyArray<Unread>,
  maximum: number
): { readonly end: ReadonlyArray<Running>; readonly begin: ReadonlyArray<Unread> } => {
  const counts = new Map<string, number>()
  const turnOf = ({ ownerId }: ReaderCandidate) => {
    const turn = counts.get(ownerId) ?? 0
    counts.set(ownerId, turn + 1)
    return turn
  }
  const candidates = [
    ...running.map((reader) => ({ turn: turnOf(reader), reader, connection: undefined })),
    ...unread.map((connection) => ({ turn: turnOf(connection), reader: undefined, connection }))
  ].toSorted((a, b) => a.turn - b.turn)
  return {
    end: candidates.slice(maximum).flatMap(({ reader }) => (reader === undefined ? [] : [reader])),
    begin: candidates.slice(0, maximum).flatMap(({ connection }) => (connection === undefined ? [] : [connection]))
  }
}
