interface RelayQueue<Owner, Span> {
  readonly add: (owner: Owner, span: Span) => void
  /** Removes at most `limit` spans, owners in turn. */
  readonly take: (limit: number) => ReadonlyArray<Span>
  readonly size: () => number
}

/**
 * Spans that wait for their export. A full queue drops the newest span of the owner with the most spans, so that no
 * owner displaces the spans of others.
 */
export const makeRelayQueue = <Owner, Span>(capacity: number): RelayQueue<Owner, Span> => {
  const waiting = new Map<Owner, Array<Span>>()
  let size = 0

  const remove = (owner: Owner, from: (spans: Array<Span>) => Span | undefined): Span | undefined => {
    const spans = waiting.get(owner)
    if (spans === undefined) return undefined
    const removed = from(spans)
    size -= 1
    if (spans.length === 0) waiting.delete(owner)
    return removed
  }

  return {
    add: (owner, span) => {
      const own = waiting.get(owner)
      if (own === undefined) waiting.set(owner, [span])
      else own.push(span)
      size += 1
      if (size <= capacity) return
      let [largest, most] = [owner, waiting.get(owner)?.length ?? 0]
      for (const [other, { length }] of waiting) if (length > most) [largest, most] = [other, length]
      remove(largest, (spans) => spans.pop())
    },
    take: (limit) => {
      const batch: Array<Span> = []
      while (batch.length < limit && size > 0)
        for (const owner of [...waiting.keys()].slice(0, limit - batch.length)) {
          const span = remove(owner, (spans) => spans.shift())
          if (span !== undefined) batch.push(span)
        }
      return batch
    },
    size: () => size
  }
}
