import { Data, Option } from "effect"

/** Whose process a number found in a record is by now. */
export type ProcessFinding =
  /** It is the one that was started then. */
  | "ours"
  /** There is no such process. */
  | "gone"
  /** The number went to another process. */
  | "strange"
  /** This system does not tell. */
  | "unknown"

/** What the cell's listener said when it was shown the token. */
export type HealthFinding = "healthy" | "refuses" | "silent"

export interface CellFindings {
  readonly process: ProcessFinding
  readonly health: HealthFinding
  /** What the running cell was started with; none where the record is missing. */
  readonly startedWith: Option.Option<CellTerms>
}

/** What cannot change while a cell runs. */
export interface CellTerms {
  readonly memoryMb: number
  readonly diskMb: number
  readonly backendUrl: string
}

export type CellFate = Data.TaggedEnum<{
  /** Nothing of ours runs. */
  Start: {}
  Adopt: {}
  /** Ours runs, but not as it should. */
  Replace: { readonly reason: string }
}>
export const CellFate = Data.taggedEnum<CellFate>()

const sameTerms = (one: CellTerms, other: CellTerms): boolean =>
  one.memoryMb === other.memoryMb && one.diskMb === other.diskMb && one.backendUrl === other.backendUrl

/** What to do when a cell is wanted. A process that is not surely ours is neither trusted nor ended. */
export const cellFate = ({ health, process, startedWith }: CellFindings, wanted: CellTerms): CellFate => {
  if (process === "gone" || process === "strange") return CellFate.Start()
  if (process === "unknown" && health !== "healthy") return CellFate.Start()
  if (health === "refuses") return CellFate.Replace({ reason: "it has another token" })
  if (health === "silent") return CellFate.Replace({ reason: "it does not answer" })
  return Option.match(startedWith, {
    onNone: () => CellFate.Replace({ reason: "it is not known what it was started with" }),
    onSome: (terms) =>
      sameTerms(terms, wanted) ? CellFate.Adopt() : CellFate.Replace({ reason: "its memory, disk or backend changed" })
  })
}
