import { OutageDetector, DependencyUnavailable } from "@berth/domain/shared/DependencyUnavailable"
import { SqlError } from "@effect/sql/SqlError"
import { Duration, Layer, Option } from "effect"
import { DatabaseConnectionLost } from "./DedicatedConnection.ts"
import { isDatabaseOutage } from "./SqlErrors.ts"

const retryAfter = Duration.seconds(5)

/** Nearly everything uses the database, and its outage causes a `SqlError`, or ends the connection of the locks. */
export const layer: Layer.Layer<OutageDetector> = Layer.succeed(
  OutageDetector,
  OutageDetector.of({
    detect: (defect) => {
      if (defect instanceof DependencyUnavailable) return Option.some(defect)
      return defect instanceof DatabaseConnectionLost || (defect instanceof SqlError && isDatabaseOutage(defect.cause))
        ? Option.some(new DependencyUnavailable({ dependency: "the database", retryAfter }))
        : Option.none()
    }
  })
)
