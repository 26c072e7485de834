import { Data } from "effect"

/** The process or container was started, but its runtime did not become ready. */
export class RuntimeNotReady extends Data.TaggedError("RuntimeNotReady")<{ readonly reason: string }> {
  override get message() {
    return this.reason
  }
}
