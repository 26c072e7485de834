import { Email } from "@berth/domain/shared/Email"
import { UserRepository } from "@berth/domain/accounts/UserRepository"
import { Agent, defaultAgentConfig } from "@berth/domain/agents/Agent"
import { AgentRepository } from "@berth/domain/agents/AgentRepository"
import type { AgentStatus } from "@berth/domain/agents/AgentStatus"
import { IdGenerator } from "@berth/domain/ids/IdGenerator"
import { type ChatSession, ChatSessionId } from "@berth/domain/interaction/Conversation"
import { ConversationRepository } from "@berth/domain/interaction/conversations/ConversationRepository"
import type { Skill } from "@berth/domain/skills/Skill"
import * as ConsoleAssets from "@berth/server/pages/ConsoleAssets"
import * as PageAssets from "@berth/server/pages/PageAssets"
import { DateTime, Effect } from "effect"
import { AgentId } from "@berth/domain/shared/AgentId"
import { UserId } from "@berth/domain/shared/UserId"

export const png = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64"
)

/** Two basic skills and a premium one. */
export const skillCatalog: ReadonlyArray<Skill> = [
  { id: "time", name: "Time", description: "Tells the time", instructions: "…", tools: ["current_time"], basic: true },
  {
    id: "calculator",
    name: "Calculator",
    description: "Calculates",
    instructions: "…",
    tools: ["calculate"],
    basic: true
  },
  { id: "files", name: "Files", description: "Keeps files", instructions: "…", tools: ["list_files"], basic: false }
]

/** Empty scripts for pages. */
export const pageAssets = PageAssets.make(
  new Map(PageAssets.assetNames.map((name) => [name, new TextEncoder().encode(`/* ${name} */`)]))
)

/** Empty scripts for the console's document. */
export const consoleAssets = ConsoleAssets.make(
  {
    script: "main-HASH.js",
    style: "console-HASH.css",
    preloads: ["chunk-HASH.js"],
    files: ["main-HASH.js", "console-HASH.css"]
  },
  new Map(
    ["main-HASH.js", "console-HASH.css"].flatMap((name) =>
      ["", ".gz", ".br"].map((form) => [`${name}${form}`, new TextEncoder().encode(`/* ${name}${form} */`)] as const)
    )
  )
)

const newId = Effect.flatMap(IdGenerator, (ids) => ids.next("usr"))

export const uniqueName = (prefix: string) => Effect.map(newId, (id) => `${prefix}-${id.slice(-12)}`)

/** A new user on the free plan without credits; the email starts with `name`. */
export const insertUser = (name = "user") =>
  Effect.gen(function* () {
    const users = yield* UserRepository
    const local = yield* uniqueName(name)
    return yield* users.insert({
      id: UserId.make(yield* newId),
      email: Email.make(`${local}@example.com`),
      name,
      passwordHash: "$argon2id$test",
      referralCode: local
    })
  })

export const insertAgent = (
  ownerId: UserId,
  changes: { readonly name?: string; readonly status?: AgentStatus; readonly at?: DateTime.Utc } = {}
) =>
  Effect.gen(function* () {
    const agents = yield* AgentRepository
    const { next } = yield* IdGenerator
    const at = changes.at ?? (yield* DateTime.now)
    const agent = new Agent({
      id: AgentId.make(yield* next("agt")),
      ownerId,
      name: changes.name ?? "agent",
      model: "claude-opus-4-6",
      customModel: null,
      status: changes.status ?? "running",
      config: defaultAgentConfig,
      createdAt: at,
      updatedAt: at
    })
    yield* agents.insert(agent)
    return agent
  })

/** A conversation without messages, of an agent and its owner. */
export const insertChatSession = ({ id: agentId, ownerId }: Pick<Agent, "id" | "ownerId">, at?: DateTime.Utc) =>
  Effect.gen(function* () {
    const createdAt = at ?? (yield* DateTime.now)
    const session: ChatSession = {
      id: ChatSessionId.make(yield* (yield* IdGenerator).next("chs")),
      userId: ownerId,
      agentId,
      status: "active",
      title: null,
      messageCount: 0,
      createdAt,
      lastActivity: createdAt
    }
    yield* (yield* ConversationRepository).insertSession(session)
    return session
  })
