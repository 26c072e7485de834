import { Data, Option } from "effect"

/** Whose process a number found in a record is by now. */
export type ProcessMatch =
  /** It is the one that was started then. */
  | "ours"
  /** There is no such process. */
  | "gone"
  /** The number went to another process. */
  | "strange"
  /** This system does not tell. */
  | "unknown"

/** What the cell's listener said when it was shown the token. */
export type HealthProbeResult = "healthy" | "refuses" | "silent"

export interface InstanceFindings {
  readonly process: ProcessMatch
  readonly health: HealthProbeResult
  /** What the running cell was started with; none where the record is missing. */
  readonly startedWith: Option.Option<LaunchTerms>
}

/** What cannot change while a cell runs. */
export interface LaunchTerms {
  readonly memoryMb: number
  readonly diskMb: number
  readonly backendUrl: string
}

export type StartDecision = Data.TaggedEnum<{
  /** Nothing of ours runs. */
  Start: {}
  Adopt: {}
  /** Ours runs, but not as it should. */
  Replace: { readonly reason: string }
}>
export const StartDecision = Data.taggedEnum<StartDecision>()

const isSameTerms = (one: LaunchTerms, other: LaunchTerms): boolean =>
  one.memoryMb === other.memoryMb && one.diskMb === other.diskMb && one.backendUrl === other.backendUrl

/** What to do when a cell is wanted. A process that is not surely ours is neither trusted nor ended. */
export const decideStart = ({ health, process, startedWith }: InstanceFindings, wanted: LaunchTerms): StartDecision => {
  if (process === "gone" || process === "strange") return StartDecision.Start()
  if (process === "unknown" && health !== "healthy") return StartDecision.Start()
  if (health === "refuses") return StartDecision.Replace({ reason: "it has another token" })
  if (health === "silent") return StartDecision.Replace({ reason: "it does not answer" })
  return Option.match(startedWith, {
    onNone: () => StartDecision.Replace({ reason: "it is not known what it was started with" }),
    onSome: (terms) =>
      isSameTerms(terms, wanted)
        ? StartDecision.Adopt()
        : StartDecision.Replace({ reason: "its memory, disk or backend changed" })
  })
}
