import { Effect } from "effect"
import { AgentConfiguration } from "../agents/AgentConfiguration.ts"
import { AgentLifecycle } from "../agents/AgentLifecycle.ts"
import { Users } from "../accounts/Users.ts"
import { RateLimiter } from "../limits/RateLimiter.ts"
import { AgentId } from "../shared/AgentId.ts"
import { A2aCallFailed } from "./A2aErrors.ts"
import { type A2aMode, type A2aPriority, findSenderReason } from "./A2aMessage.ts"
import { A2aMessages, type SendingTurn } from "./A2aMessages.ts"

/** Skill that sends a message to another agent. */
const sendingSkill = "a2a-send"

/** Timeout of a turn that waits for the reply of another agent. */
const replyWait = "100 seconds"

/** A message requested by a model. `to`: an id or a name. */
interface AgentMessageCall {
  readonly to: string
  readonly mode: A2aMode
  readonly message: string
  readonly priority?: A2aPriority | undefined
  readonly budgetUnits?: number | undefined
  /** Offered skill to run instead of the receiver's model. */
  readonly skill?: string | undefined
  readonly tool?: string | undefined
  readonly arguments?: Readonly<Record<string, unknown>> | undefined
}

const failed = (reason: string) => new A2aCallFailed({ reason })

/** Executes calls of the skill `a2a-send`; results are texts for the model. */
export class A2aCalls extends Effect.Service<A2aCalls>()("@berth/A2aCalls", {
  effect: Effect.gen(function* () {
    const agents = yield* AgentLifecycle
    const configuration = yield* AgentConfiguration
    const messages = yield* A2aMessages
    const users = yield* Users
    const limiter = yield* RateLimiter

    const requireSkill = Effect.fnUntraced(
      function* ({ agentId, userId }: SendingTurn) {
        yield* limiter.take("runtime-a2a", userId)
        const agent = yield* Effect.flatten(agents.findOwned(userId, agentId))
        const skills = yield* configuration.listSkills(yield* users.find(userId), agent)
        if (!skills.some(({ enabled, skill }) => enabled && skill.id === sendingSkill))
          return yield* failed(`The owner has not enabled the skill ${sendingSkill}.`)
      },
      Effect.catchTags({
        NoSuchElementException: () => failed("The agent is gone."),
        UserNotFound: () => failed("The owner is gone.")
      })
    )

    const listAgents = Effect.fn("A2aCalls.listAgents")(function* (turn: SendingTurn) {
      yield* requireSkill(turn)
      const reachable = yield* messages.listReachable(turn)
      if (reachable.length === 0) return "There is no other agent that you may write to."
      return reachable
        .map(({ id, isOwn, name, skills }) => {
          const offers = skills.length === 0 ? "" : `, offers the skills ${skills.join(", ")}`
          return `- ${JSON.stringify(name)}, id ${id}${isOwn ? "" : ", of another owner"}${offers}`
        })
        .join("\n")
    })

    /** Agents of other owners are found by id only, since those owners choose the names. */
    const findReceiver = Effect.fnUntraced(function* (turn: SendingTurn, to: string) {
      const reachable = yield* messages.listReachable(turn)
      const named = reachable.filter(({ id, isOwn, name }) => id === to || (isOwn && name === to))
      const [only] = named
      if (only !== undefined && named.length === 1) return only
      // Not listed or nonexistent: sending the message reports the error.
      if (named.length === 0) return { id: AgentId.make(to), name: to }
      return yield* failed("Several agents have this name: use the id.")
    })

    const send = Effect.fn("A2aCalls.send")(function* (turn: SendingTurn, call: AgentMessageCall) {
      yield* requireSkill(turn)
      const { arguments: args, budgetUnits, message, mode, priority, skill, tool } = call
      const receiver = yield* findReceiver(turn, call.to)
      const payload = skill === undefined ? message : { tool, arguments: args }
      const sent = yield* messages
        .sendInTurn(turn, { to: receiver.id, mode, payload, skill, priority, budgetUnits })
        .pipe(
          Effect.catchTags({
            A2aMessageConflict: () => failed("The message was not sent."),
            A2aMessageInvalid: ({ reason }) => failed(reason),
            A2aQueueFull: () => failed("Too many messages are in progress. Wait for their replies."),
            A2aSenderNotOwned: () => failed("The agent is gone."),
            AgentNotFound: () => failed("There is no such agent, or it does not take messages of this agent."),
            DelegationRefused: ({ reason }) => failed(reason),
            OfferedSkillNotFound: ({ reason }) => failed(reason)
          })
        )
      const name = `${JSON.stringify(receiver.name)} (${receiver.id})`
      if (mode === "notify") return `The message to ${name} was accepted.`
      const end = yield* messages.awaitOutcome(sent, replyWait)
      if (end.status === "waiting") return `The message to ${name} goes on, but there is no reply yet.`
      return end.status === "answered"
        ? `Reply of ${name}:\n\n${end.reply ?? ""}`
        : yield* failed(`${name} gave no reply: ${findSenderReason(end) ?? end.status}`)
    })

    return { listAgents, send }
  })
}) {}
