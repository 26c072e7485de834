import { PushDispatch } from "@berth/domain/a2a/tasks/PushDispatch"
import { Effect, Layer } from "effect"
import { runDeliveryLoop } from "../jobs/DeliveryLoop.ts"

/** Sends the ends of tasks to the addresses of their callers. */
export const layer = Layer.scopedDiscard(
  Effect.flatMap(PushDispatch, (dispatch) =>
    runDeliveryLoop({ ...dispatch, slots: 16, awaitDue: Effect.sleep("1 second") })
  )
).pipe(Layer.provide(PushDispatch.Default))
