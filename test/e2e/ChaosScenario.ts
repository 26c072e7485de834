import { FastCheck } from "effect"

const chaosVerbs = ["chat", "start", "stop", "restart", "update", "repair", "sleep"] as const
export type ChaosVerb = (typeof chaosVerbs)[number]

export type ChaosVictim = "instance" | "server" | "worker" | "engine"

/** Messages of the log that end a step of provisioning, start, update, repair or sleep; null is the request itself. */
const steps = [
  null,
  "Instance started",
  "Instance adopted",
  "Instance replaced",
  "Agent provisioned",
  "Idle instance stopped"
] as const

/** Calls of two owners at once, and a kill at a step of theirs. */
export interface ChaosRound {
  /** One or two calls at once, by owner. */
  readonly calls: readonly [ReadonlyArray<ChaosVerb>, ReadonlyArray<ChaosVerb>]
  /** Whether a third owner's agent is being provisioned too. */
  readonly provisions: boolean
  readonly step: (typeof steps)[number]
  readonly delayMs: number
  readonly victims: ReadonlyArray<ChaosVictim>
}

const verbs = FastCheck.array(FastCheck.constantFrom(...chaosVerbs), { minLength: 1, maxLength: 2 })

const makeRound = (victims: ReadonlyArray<ChaosVictim>): FastCheck.Arbitrary<ChaosRound> =>
  FastCheck.record({
    calls: FastCheck.tuple(verbs, verbs),
    provisions: FastCheck.boolean(),
    step: FastCheck.constantFrom(...steps),
    delayMs: FastCheck.integer({ min: 0, max: 500 }),
    victims: FastCheck.uniqueArray(FastCheck.constantFrom(...victims), { minLength: 1, maxLength: 2 })
  })

/** The rounds of a seed, always the same for the same victims. */
export const makeChaosRounds = (
  seed: number,
  count: number,
  victims: ReadonlyArray<ChaosVictim>
): ReadonlyArray<ChaosRound> =>
  FastCheck.sample(FastCheck.array(makeRound(victims), { minLength: count, maxLength: count }), {
    seed,
    numRuns: 1
  }).flat()
