import { Data, Duration, Effect, Ref } from "effect"
import type { LiveProcesses } from "./LiveProcesses.ts"
import type { Program } from "./Program.ts"
import { decide } from "./RestartDecision.ts"
import { runProgram } from "./RunProgram.ts"

/** A program cannot be kept running. It has said why itself. */
export class ProgramGaveUp extends Data.TaggedError("ProgramGaveUp")<{
  readonly program: string
  readonly why: string
  readonly words: string
}> {
  override get message() {
    return `The ${this.program} is not started again: ${this.why} (${this.words}). Its own last lines say more.`
  }
}

/** Runs a program for ever, starting it again when it crashes. `wasUp` tells whether the service has been up. */
export const keepRunning = (
  program: Program,
  wasUp: Ref.Ref<boolean>,
  onStarted: (pid: number) => Effect.Effect<void>
): Effect.Effect<never, ProgramGaveUp, LiveProcesses> => {
  const round = (failures: number): Effect.Effect<never, ProgramGaveUp, LiveProcesses> =>
    Effect.gen(function* () {
      const exit = yield* runProgram(program, onStarted)
      const decision = decide({ failures, wasUp: yield* Ref.get(wasUp) }, exit)
      if (decision._tag === "GiveUp") {
        return yield* new ProgramGaveUp({ program: program.name, why: decision.why, words: exit.words })
      }
      yield* Effect.logWarning(
        `The ${program.name} ended (${exit.words}) and is started again in ${Duration.format(decision.after)}`
      )
      return yield* Effect.delay(round(decision.failures), decision.after)
    })
  return round(0)
}
