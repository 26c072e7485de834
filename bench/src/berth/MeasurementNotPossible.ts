import { Data } from "effect"

/** The measured service did not come into the state that a measurement needs. */
export class MeasurementNotPossible extends Data.TaggedError("MeasurementNotPossible")<{ readonly reason: string }> {
  override get message() {
    return this.reason
  }
}
