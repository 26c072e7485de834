import { Effect, Option, Schedule } from "effect"
import type { AgentTurn, TurnRepository } from "./TurnRepository.ts"

/** Waits for the model calls of an interrupted turn, which end shortly after it, or for at most two seconds. */
export const awaitOpenCalls = (turns: TurnRepository["Type"], turn: AgentTurn) =>
  Effect.repeat(turns.find(turn), {
    until: Option.match({ onNone: () => true, onSome: ({ openCalls }) => openCalls === 0 }),
    schedule: Schedule.spaced("50 millis").pipe(Schedule.upTo("2 seconds"))
  })
