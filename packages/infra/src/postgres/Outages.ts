import { Outages, Unavailable } from "@berth/domain/limits/Unavailable"
import { SqlError } from "@effect/sql/SqlError"
import { Duration, Layer, Option } from "effect"
import { isOutage } from "./SqlErrors.ts"

const retryAfter = Duration.seconds(5)

/** The database is behind nearly everything: whatever died of its absence did so as a `SqlError`. */
export const layer: Layer.Layer<Outages> = Layer.succeed(
  Outages,
  Outages.of({
    recognise: (defect) => {
      if (defect instanceof Unavailable) return Option.some(defect)
      return defect instanceof SqlError && isOutage(defect.cause)
        ? Option.some(new Unavailable({ what: "the database", retryAfter }))
        : Option.none()
    }
  })
)
