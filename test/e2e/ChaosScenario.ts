import { FastCheck } from "effect"

const chaosVerbs = ["chat", "start", "stop", "restart", "update", "repair", "sleep"] as const
export type ChaosVerb = (typeof chaosVerbs)[number]

export type ChaosVictim = "instance" | "server" | "worker" | "engine"

/** Log messages that end a step of provisioning, start, update, repair or sleep; null is the request itself. */
const steps = [
  null,
  "Instance started",
  "Instance adopted",
  "Instance replaced",
  "Agent provisioned",
  "Idle instance stopped"
] as const

/** Concurrent calls of two owners, and a kill at one of their steps. */
interface ChaosRound {
  /** One or two concurrent calls per owner. */
  readonly calls: readonly [ReadonlyArray<ChaosVerb>, ReadonlyArray<ChaosVerb>]
  /** Whether a third owner's agent is provisioned concurrently. */
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

/** The rounds of a seed, deterministic for the same victims. */
export const makeChaosRounds = (
  seed: number,
  count: number,
  victims: ReadonlyArray<ChaosVictim>
): ReadonlyArray<ChaosRound> =>
  FastCheck.sample(FastCheck.array(makeRound(victims), { minLength: count, maxLength: count }), {
    seed,
    numRuns: 1
  }).flat()
