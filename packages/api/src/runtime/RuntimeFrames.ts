/** An event of a cell's wires as a server-sent event. */
export const formatEventFrame = (event: { readonly type: string }): string =>
  `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`

/** A comment, which parsers skip. It tells the other side that the stream is alive while there is nothing to say. */
export const keepAliveFrame = ": alive\n\n"

/** Seconds between keep-alives; whoever reads a stream may take a silence of three times that for a dead peer. */
export const keepAliveSeconds = 15
