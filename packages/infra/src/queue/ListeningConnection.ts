import { PostgresConnection, type PostgresConnectionOptions } from "bullmq"

type ListenClient = Awaited<ReturnType<PostgresConnection["getListenClient"]>>

/**
 * A worker's connection. BullMQ takes every listener from the listening client before it ends it; if the server hangs up in that
 * moment, say because both are being shut down, Node would end the process for an error that nobody listens to.
 */
export class ListeningConnection extends PostgresConnection {
  readonly #troubled: (error: Error) => void
  #client: ListenClient | undefined

  constructor(options: PostgresConnectionOptions, troubled: (error: Error) => void) {
    super(options)
    this.#troubled = troubled
  }

  override async getListenClient(): Promise<ListenClient> {
    this.#client = await super.getListenClient()
    return this.#client
  }

  override close(): Promise<void> {
    const closed = super.close()
    this.#client?.on("error", this.#troubled)
    return closed
  }
}
