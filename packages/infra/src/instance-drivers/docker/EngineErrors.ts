import { Data, Duration } from "effect"

/** There is no connection to the engine. */
export class EngineUnreachable extends Data.TaggedError("EngineUnreachable")<{
  readonly address: string
  readonly reason: string
}> {
  override get message() {
    const advice = this.address.startsWith("https:") ? ", and check the certificates of DOCKER_CERT_PATH" : ""
    return `The Docker Engine at ${this.address} cannot be reached (${this.reason}). Start it, or set DOCKER_HOST to its address${advice}.`
  }
}

/** The engine accepted a request but did not respond in time. */
export class EngineUnresponsive extends Data.TaggedError("EngineUnresponsive")<{
  readonly address: string
  readonly operation: string
  readonly within: Duration.Duration
}> {
  override readonly message = `The Docker Engine at ${this.address} did not answer ${this.operation} within ${Duration.format(this.within)}. Restart it if \`docker info\` hangs too.`
}

/** The engine responded with an error status. */
export class EngineRequestRejected extends Data.TaggedError("EngineRequestRejected")<{
  readonly operation: string
  readonly status: number
  readonly reason: string
}> {
  override get message() {
    return /no space left on device/i.test(this.reason)
      ? "The disk of the Docker Engine is full. Free space below its data root, for example with `docker system prune`."
      : `The Docker Engine rejected ${this.operation} (${this.status}): ${this.reason.replace(/\.$/, "")}. Read the log of the engine.`
  }
}

/** The response violates the API: the peer is not a Docker Engine, or of an unsupported version. */
export class EngineResponseMalformed extends Data.TaggedError("EngineResponseMalformed")<{
  readonly operation: string
  readonly reason: string
}> {
  override readonly message = `The response to ${this.operation} is not one of a Docker Engine with API 1.41 or later (${this.reason}). Set DOCKER_HOST to the address of one, or update it.`
}

export type EngineError = EngineUnreachable | EngineUnresponsive | EngineRequestRejected | EngineResponseMalformed

export class RuntimeImageMissing extends Data.TaggedError("RuntimeImageMissing")<{ readonly image: string }> {
  override readonly message = `The runtime image ${this.image} is not on the Docker Engine. Build it with \`npm run image\`, or set RUNTIME_IMAGE to an image that the engine has.`
}

/** The engine would not isolate instances. */
export class EngineUnsafe extends Data.TaggedError("EngineUnsafe")<{ readonly reason: string }> {
  override readonly message = this.reason
}

/** Whether the engine itself fails, regardless of the request. */
export const isEngineFault = (error: EngineError | RuntimeImageMissing): boolean =>
  error._tag !== "EngineRequestRejected" || error.status >= 500
