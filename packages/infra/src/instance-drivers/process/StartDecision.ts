import { Data, Option } from "effect"
import type { ProcessMatch } from "../../process/ProcessIdentity.ts"
import type { HealthProbeResult } from "../HealthProbe.ts"

export interface InstanceFindings {
  readonly process: ProcessMatch
  readonly health: HealthProbeResult
  /** None if the record is missing. */
  readonly startedWith: Option.Option<LaunchTerms>
}

/** Settings that are fixed while an instance runs. */
interface LaunchTerms {
  readonly memoryMb: number
  readonly diskMb: number
  readonly backendUrl: string
}

type StartDecision = Data.TaggedEnum<{
  Start: {}
  Adopt: {}
  Replace: { readonly reason: string }
}>
const StartDecision = Data.taggedEnum<StartDecision>()

const isSameTerms = (a: LaunchTerms, b: LaunchTerms): boolean =>
  a.memoryMb === b.memoryMb && a.diskMb === b.diskMb && a.backendUrl === b.backendUrl

/** Decides how to start an instance. A process that is not certainly the instance is neither adopted nor ended. */
export const decideStart = (
  { health, process, startedWith }: InstanceFindings,
  requested: LaunchTerms
): StartDecision => {
  if (process === "gone" || process === "different") return StartDecision.Start()
  if (process === "unknown" && health !== "healthy") return StartDecision.Start()
  if (health === "rejected") return StartDecision.Replace({ reason: "it has another token" })
  if (health === "unresponsive") return StartDecision.Replace({ reason: "it does not respond" })
  return Option.match(startedWith, {
    onNone: () => StartDecision.Replace({ reason: "its start settings are unknown" }),
    onSome: (terms) =>
      isSameTerms(terms, requested)
        ? StartDecision.Adopt()
        : StartDecision.Replace({ reason: "its memory, disk or backend changed" })
  })
}
