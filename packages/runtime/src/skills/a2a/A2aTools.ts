import * as Tool from "@berth/domain/skills/tools/Tool"
import { Effect, Schema } from "effect"
import type { TurnAgent } from "../Toolbox.ts"
import type { A2aBackend } from "../BackendCalls.ts"

const text = (description: string) => Schema.String.annotations({ description })
const to = text("Name or id of the agent, as list_agents shows it.")
const budget = Schema.optional(
  Schema.Int.annotations({ description: "Most units that the task may cost. Default: 10." })
)
/** Longer than the backend's wait for a reply. */
const timeout = "110 seconds"

/** The tools of the skill `a2a-send`. */
export const makeA2aTools = (call: A2aBackend["Type"]) => [
  Tool.make({
    name: "list_agents",
    description: "Lists the agents that you may write to, with the skills that they offer.",
    parameters: Schema.Struct({}),
    run: (_, turn: TurnAgent) => call(turn, { action: "list_agents" })
  }),
  Tool.make({
    name: "send_message",
    description: "Sends a message to another agent and returns its reply.",
    parameters: Schema.Struct({
      to,
      message: text("The message."),
      wait: Schema.optional(
        Schema.Boolean.annotations({ description: "False: send without waiting for a reply. Default: true." })
      ),
      urgent: Schema.optional(
        Schema.Boolean.annotations({ description: "True: the message does not wait behind others. Default: false." })
      )
    }),
    timeout,
    run: ({ message, to, urgent = false, wait = true }, turn: TurnAgent) =>
      call(turn, {
        action: "send",
        to,
        mode: wait ? "request" : "notify",
        message,
        ...(urgent ? { priority: "high" as const } : {})
      })
  }),
  Tool.make({
    name: "delegate_task",
    description: "Gives a task with a budget to another agent and returns the result.",
    parameters: Schema.Struct({ to, task: text("The task, understood by itself."), budget }),
    timeout,
    run: ({ budget: budgetUnits, task, to }, turn: TurnAgent) =>
      call(turn, { action: "send", to, mode: "delegate", message: task, budgetUnits })
  }),
  Tool.make({
    name: "delegate_skill",
    description: "Runs a tool of a skill that another agent offers and returns the result.",
    parameters: Schema.Struct({
      to,
      skill: text("The offered skill, for example calculator."),
      tool: text("A tool of the skill, for example calculate."),
      arguments: text('The arguments of the tool as JSON, for example {"expression":"6*7"}.')
    }),
    timeout,
    run: ({ arguments: toolArguments, skill, to, tool }, turn: TurnAgent) =>
      Effect.flatMap(
        Effect.mapError(
          decodeArguments(toolArguments),
          () => new Tool.ToolFailed({ reason: "`arguments` must be a JSON object." })
        ),
        (args) =>
          call(turn, {
            action: "send",
            to,
            mode: "delegate",
            message: "",
            skill,
            tool,
            arguments: args,
            budgetUnits: 1
          })
      )
  })
]

const decodeArguments = Schema.decodeUnknown(
  Schema.parseJson(Schema.Record({ key: Schema.String, value: Schema.Unknown }))
)
