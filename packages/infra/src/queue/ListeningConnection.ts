import { PostgresConnection, type PostgresConnectionOptions } from "bullmq"

type ListenClient = Awaited<ReturnType<PostgresConnection["getListenClient"]>>

/**
 * Connection of a worker. BullMQ removes all listeners before it ends the client; an error in between would end the
 * process.
 */
export class ListeningConnection extends PostgresConnection {
  readonly #logError: (error: Error) => void
  #client: ListenClient | undefined

  constructor(options: PostgresConnectionOptions, logError: (error: Error) => void) {
    super(options)
    this.#logError = logError
  }

  override async getListenClient(): Promise<ListenClient> {
    this.#client = await super.getListenClient()
    return this.#client
  }

  override close(): Promise<void> {
    const closed = super.close()
    this.#client?.on("error", this.#logError)
    return closed
  }
}
