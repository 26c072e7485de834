import { Data, Duration, Effect, Ref } from "effect"
import type { LiveProcesses } from "./LiveProcesses.ts"
import type { Program } from "./Program.ts"
import { decideProgramRestart } from "./RestartDecision.ts"
import { runChildProgram } from "./ChildProgram.ts"

/** A program cannot be kept running. It has said why itself. */
export class ProgramFailed extends Data.TaggedError("ProgramFailed")<{
  readonly program: string
  readonly reason: string
  readonly exitDescription: string
}> {
  override get message() {
    return `The ${this.program} is not started again: ${this.reason} (${this.exitDescription}). Its own last lines say more.`
  }
}

/** Runs a program for ever, starting it again when it crashes. `wasUp` tells whether the service has been up. */
export const superviseProgram = (
  program: Program,
  wasUp: Ref.Ref<boolean>,
  onStarted: (pid: number) => Effect.Effect<void>
): Effect.Effect<never, ProgramFailed, LiveProcesses> => {
  const round = (failures: number): Effect.Effect<never, ProgramFailed, LiveProcesses> =>
    Effect.gen(function* () {
      const exit = yield* runChildProgram(program, onStarted)
      const decision = decideProgramRestart({ failures, hasBeenUp: yield* Ref.get(wasUp) }, exit)
      if (decision._tag === "GiveUp") {
        return yield* new ProgramFailed({
          program: program.name,
          reason: decision.reason,
          exitDescription: exit.description
        })
      }
      yield* Effect.logWarning(
        `The ${program.name} ended (${exit.description}) and is started again in ${Duration.format(decision.after)}`
      )
      return yield* Effect.delay(round(decision.failures), decision.after)
    })
  return round(0)
}
