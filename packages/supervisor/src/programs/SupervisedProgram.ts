import { Data, Duration, Effect, Ref } from "effect"
import type { LiveProcesses } from "./LiveProcesses.ts"
import type { Program } from "./Program.ts"
import { decideProgramRestart } from "./RestartDecision.ts"
import { runChildProgram } from "./ChildProgram.ts"

class ProgramFailed extends Data.TaggedError("ProgramFailed")<{
  readonly program: string
  readonly reason: string
  readonly exitDescription: string
}> {
  override readonly message = `The ${this.program} is not restarted: ${this.reason} (${this.exitDescription}). See its last log lines.`
}

/** Runs a program and restarts it after a crash. */
export const superviseProgram = (
  program: Program,
  hasBeenUp: Ref.Ref<boolean>,
  onStarted: (pid: number) => Effect.Effect<void>
): Effect.Effect<never, ProgramFailed, LiveProcesses> => {
  const round = (failures: number): Effect.Effect<never, ProgramFailed, LiveProcesses> =>
    Effect.gen(function* () {
      const exit = yield* runChildProgram(program, onStarted)
      const decision = decideProgramRestart({ failures, hasBeenUp: yield* Ref.get(hasBeenUp) }, exit)
      if (decision._tag === "GiveUp") {
        return yield* new ProgramFailed({
          program: program.name,
          reason: decision.reason,
          exitDescription: exit.description
        })
      }
      yield* Effect.logWarning(
        `The ${program.name} exited (${exit.description}) and is restarted in ${Duration.format(decision.after)}`
      )
      return yield* Effect.delay(round(decision.failures), decision.after)
    })
  return round(0)
}
