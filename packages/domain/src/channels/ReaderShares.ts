import type { ChannelConnection } from "./ChannelConnection.ts"

/** A connection that is read, or could be. */
export type ReaderCandidate = Pick<ChannelConnection, "agentId" | "ownerId" | "platform">

/**
 * Shares `maximum` readers among the owners. Everyone's first connection comes before anyone's second, running ones before
 * others, so that the result is stable while nothing changes.
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
  ].toSorted((one, other) => one.turn - other.turn)
  return {
    end: candidates.slice(maximum).flatMap(({ reader }) => (reader === undefined ? [] : [reader])),
    begin: candidates.slice(0, maximum).flatMap(({ connection }) => (connection === undefined ? [] : [connection]))
  }
}
