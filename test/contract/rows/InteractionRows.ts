import { TurnFailed } from "@berth/domain/instances/AgentRuntime"
import { BackendUnavailable, InstanceUnavailable } from "@berth/domain/instances/InstanceErrors"
import { Effect, Stream } from "effect"
import { AgentManagerTest } from "@berth/infra/backend/AgentManagerTest"
import type { CallCondition, ErrorRow, ErrorRowFixturesService } from "../ErrorRow.ts"

const answering =
  (answer: Stream.Stream<never, BackendUnavailable | InstanceUnavailable | TurnFailed>): CallCondition =>
  (effect) =>
    Effect.flatMap(AgentManagerTest, ({ withBehavior }) => withBehavior({ chat: () => answer })(effect))

const silent: ReadonlyArray<readonly [string, CallCondition]> = [
  ["the backend is gone", answering(Stream.fail(new BackendUnavailable({ reason: "it does not respond" })))],
  ["the instance has ended", answering(Stream.fail(new InstanceUnavailable({ reason: "it ended" })))],
  ["the turn fails", answering(Stream.fail(new TurnFailed({ reason: "the model said no" })))],
  ["the answer breaks off", answering(Stream.empty)],
  ["something breaks", answering(Stream.die(new Error("hunter2 at /internal/turns")))]
]

const read = (
  when: string,
  query: (scene: ErrorRowFixturesService) => string,
  status: number,
  code: string,
  as: (scene: ErrorRowFixturesService) => ErrorRowFixturesService["newcomer"] = ({ owner }) => owner
): ErrorRow => ({
  when,
  route: "GET /api/agent",
  call: (scene) => ({ as: as(scene), path: `/api/agent?${query(scene)}` }),
  status,
  code
})

const post =
  (route: "POST /api/agent" | "POST /api/chat") =>
  (
    when: string,
    json: unknown,
    status: number,
    code: string,
    more: Pick<ErrorRow, "during" | "fields" | "members"> & {
      readonly as?: (scene: ErrorRowFixturesService) => ErrorRowFixturesService["newcomer"]
    } = {}
  ): ErrorRow => {
    const { as = ({ owner }: ErrorRowFixturesService) => owner, ...rest } = more
    return { when, route, call: (scene) => ({ as: as(scene), json }), status, code, ...rest }
  }
const act = post("POST /api/agent")
const chat = post("POST /api/chat")
type More = Parameters<typeof act>[4]
const switching = (when: string, json: object, status: number, code: string, more?: More) =>
  act(when, { action: "update-skill", ...json }, status, code, more)
const keeping = (when: string, json: object, status: number, code: string, more?: More) =>
  act(when, { action: "set-credential", ...json }, status, code, more)

const unauthorized = (route: ErrorRow["route"]): ErrorRow => ({
  when: "nobody is signed in",
  route,
  status: 401,
  code: "unauthorized"
})

const tooLong = "m".repeat(100_001)

export const interactionRows: ReadonlyArray<ErrorRow> = [
  unauthorized("GET /api/agent"),
  read("the action is unknown", () => "action=dance", 400, "invalid_request"),
  read("the action is given twice", () => "action=sessions&action=memory", 400, "invalid_request"),
  { ...read("the session is not named", () => "action=session", 400, "invalid_request"), fields: ["sessionId"] },
  read("there is no such session", () => "action=session&sessionId=chs_0", 404, "chat_session_not_found"),
  read(
    "the session is another's",
    ({ stranger }) => `action=session&sessionId=${stranger.conversation}`,
    404,
    "chat_session_not_found"
  ),
  read(
    "the sessions of another's agent",
    ({ stranger }) => `action=sessions&agentId=${stranger.agent.id}`,
    404,
    "agent_not_found"
  ),
  read(
    "the agent is another's",
    ({ stranger }) => `action=memory&agentId=${stranger.agent.id}`,
    404,
    "agent_not_found"
  ),

  ...["health", "skills"].map((action) =>
    read(
      `there is no agent whose ${action} could be told`,
      () => `action=${action}`,
      404,
      "running_agent_not_found",
      ({ newcomer }) => newcomer
    )
  ),
  ...["health", "skills", "credentials"].map((action) =>
    read(
      `the ${action} are asked for by another's agent`,
      ({ stranger }) => `action=${action}&agentId=${stranger.agent.id}`,
      404,
      "agent_not_found"
    )
  ),

  unauthorized("POST /api/agent"),
  act("the action is unknown", { action: "dance", message: "hello" }, 400, "invalid_request", { fields: ["action"] }),
  act("the message is missing", {}, 400, "message_invalid"),
  act("the message is null", { message: null }, 400, "message_invalid"),
  act("the message is blank", { message: " \n" }, 400, "message_invalid"),
  act("the message is too long", { message: tooLong }, 400, "message_invalid"),
  act("the types are wrong", { message: 1, sessionId: 2, agentId: 3 }, 400, "invalid_request", {
    fields: ["message", "sessionId", "agentId"]
  }),
  act("there is no such session", { message: "hello", sessionId: "chs_0" }, 404, "chat_session_not_found"),
  {
    when: "the session is another's",
    route: "POST /api/agent",
    call: ({ owner, stranger }) => ({ as: owner, json: { message: "hello", sessionId: stranger.conversation } }),
    status: 404,
    code: "chat_session_not_found"
  },
  {
    when: "the agent is another's",
    route: "POST /api/agent",
    call: ({ owner, stranger }) => ({ as: owner, json: { message: "hello", agentId: stranger.agent.id } }),
    status: 404,
    code: "agent_not_found"
  },
  {
    when: "a session is to be opened with another's agent",
    route: "POST /api/agent",
    call: ({ owner, stranger }) => ({ as: owner, json: { action: "create-session", agentId: stranger.agent.id } }),
    status: 404,
    code: "agent_not_found"
  },
  act("there is no agent", { message: "hello" }, 404, "running_agent_not_found", { as: ({ newcomer }) => newcomer }),
  act("the agent is stopped", { message: "hello" }, 404, "running_agent_not_found", { as: ({ idle }) => idle }),
  act("there is no agent to open a session with", { action: "create-session" }, 404, "running_agent_not_found", {
    as: ({ newcomer }) => newcomer
  }),
  act("the units are used up", { message: "hello" }, 402, "units_exhausted", { as: ({ spent }) => spent }),
  ...silent.map(([when, during]) => act(when, { message: "hello" }, 500, "message_unanswered", { during })),

  switching("the skill is not named", { enabled: true }, 400, "invalid_request", { fields: ["skillId"] }),
  switching("it is not said which way", { skillId: "time" }, 400, "invalid_request", { fields: ["enabled"] }),
  switching("nothing is said", {}, 400, "invalid_request", { fields: ["skillId", "enabled"] }),
  switching("both are null", { skillId: null, enabled: null }, 400, "invalid_request", {
    fields: ["skillId", "enabled"]
  }),
  switching("the types are wrong", { skillId: 1, enabled: "yes" }, 400, "invalid_request", {
    fields: ["skillId", "enabled"]
  }),
  ...["nothing", "", "TIME", " time", "time\u00e9", "__proto__", "s".repeat(10_000)].map((skillId) =>
    switching(`there is no skill ${skillId.slice(0, 20)}`, { skillId, enabled: false }, 404, "skill_not_found")
  ),
  switching("there is no agent and nothing is named", {}, 400, "invalid_request", {
    as: ({ newcomer }) => newcomer,
    fields: ["skillId", "enabled"]
  }),
  switching("there is no agent", { skillId: "time", enabled: true }, 404, "running_agent_not_found", {
    as: ({ newcomer }) => newcomer
  }),
  {
    when: "a skill of another's agent is to be switched",
    route: "POST /api/agent",
    call: ({ owner, stranger }) => ({
      as: owner,
      json: { action: "update-skill", agentId: stranger.agent.id, skillId: "time", enabled: true }
    }),
    status: 404,
    code: "agent_not_found"
  },
  switching("the plan has basic skills only", { skillId: "files", enabled: true }, 403, "plan_feature_required", {
    as: ({ full }) => full,
    members: {
      feature: "skill",
      id: "files",
      plans: ["solo", "collective", "label", "network", "pro", "scale", "enterprise"]
    }
  }),
  ...[
    ["it ended", new InstanceUnavailable({ reason: "it ended" })] as const,
    ["the backend is gone", new BackendUnavailable({ reason: "it does not respond" })] as const
  ].map(([when, failure]) =>
    switching(
      `the instance cannot be reconfigured: ${when}`,
      { skillId: "time", enabled: false },
      500,
      "configuration_not_applied",
      {
        during: (effect) =>
          Effect.flatMap(AgentManagerTest, ({ withBehavior }) => withBehavior({ reconfigure: () => failure })(effect))
      }
    )
  ),

  keeping("the key is not named", { value: "v" }, 400, "invalid_request", { fields: ["key"] }),
  keeping("the value is missing", { key: "openai" }, 400, "invalid_request", { fields: ["value"] }),
  keeping("both are null", { key: null, value: null }, 400, "invalid_request", { fields: ["key", "value"] }),
  keeping("the types are wrong", { key: 1, value: ["hunter2"] }, 400, "invalid_request", { fields: ["key", "value"] }),
  ...["groq", "OpenAI", "", "openai ", "__proto__"].map((key) =>
    keeping(
      `no credential is called ${JSON.stringify(key)}`,
      { key, value: "hunter2" },
      400,
      "credential_key_unknown",
      {
        members: {
          message: "key: must be one of anthropic, openai, openrouter, google, telegram, discord, whatsapp."
        }
      }
    )
  ),
  keeping("the value is empty", { key: "openai", value: "" }, 400, "credential_invalid"),
  keeping("the value is blank", { key: "openai", value: " \n\t" }, 400, "credential_invalid"),
  keeping("the value is too long", { key: "openai", value: "v".repeat(8_193) }, 400, "credential_invalid"),
  keeping("the value has a line break", { key: "openai", value: "hunter2\nhunter2" }, 400, "credential_invalid"),
  {
    when: "a credential is to be set by another's agent",
    route: "POST /api/agent",
    call: ({ owner, stranger }) => ({
      as: owner,
      json: { action: "set-credential", agentId: stranger.agent.id, key: "openai", value: "hunter2" }
    }),
    status: 404,
    code: "agent_not_found"
  },
  ...[
    { when: "what is shown of an event is no id", id: "3", status: 400, code: "last_event_id_invalid" },
    { when: "the event is of no message", id: "msg_0:3", status: 404, code: "message_not_found" }
  ].flatMap(({ code, id, status, when }) => {
    const headers = { accept: "text/event-stream", "last-event-id": id }
    const row = { when, status, code } as const
    return [
      {
        ...row,
        route: "POST /api/agent",
        call: ({ owner }: ErrorRowFixturesService) => ({ as: owner, json: {}, headers })
      },
      {
        ...row,
        route: "POST /api/chat",
        call: ({ owner }: ErrorRowFixturesService) => ({ as: owner, json: { message: "hello" }, headers })
      }
    ] as const
  }),
  unauthorized("GET /api/agent/messages/:messageId/events"),
  {
    when: "there is no such message, whatever else is wrong",
    route: "GET /api/agent/messages/:messageId/events",
    call: ({ owner }) => ({ as: owner, headers: { "last-event-id": "3" } }),
    status: 404,
    code: "message_not_found"
  },

  unauthorized("GET /api/agents/overviews"),
  unauthorized("POST /api/agent/messages/:messageId/stop"),
  {
    when: "there is no such message",
    route: "POST /api/agent/messages/:messageId/stop",
    call: ({ owner }) => ({ as: owner }),
    status: 404,
    code: "message_not_found"
  },

  unauthorized("PATCH /api/agent/sessions/:sessionId"),
  {
    when: "there is no such conversation",
    route: "PATCH /api/agent/sessions/:sessionId",
    call: ({ owner }) => ({ as: owner, json: { title: "Letters" } }),
    status: 404,
    code: "chat_session_not_found"
  },
  {
    when: "the title is too long",
    route: "PATCH /api/agent/sessions/:sessionId",
    call: ({ owner }) => ({
      as: owner,
      path: `/api/agent/sessions/${owner.conversation}`,
      json: { title: "x".repeat(201) }
    }),
    status: 400,
    code: "title_invalid"
  },

  unauthorized("DELETE /api/agent/sessions/:sessionId"),
  {
    when: "there is no such conversation",
    route: "DELETE /api/agent/sessions/:sessionId",
    call: ({ owner }) => ({ as: owner }),
    status: 404,
    code: "chat_session_not_found"
  },

  unauthorized("POST /api/chat"),
  unauthorized("GET /api/chat"),
  chat("the message is missing", {}, 400, "invalid_request", { fields: ["message"] }),
  chat("the message is blank", { message: "" }, 400, "message_invalid"),
  chat("the message is too long", { message: tooLong }, 400, "message_invalid"),
  chat("the types are wrong", { message: {}, topic: 1, agentId: 3 }, 400, "invalid_request", {
    fields: ["message", "topic", "agentId"]
  }),
  {
    when: "the agent is another's",
    route: "POST /api/chat",
    call: ({ owner, stranger }) => ({ as: owner, json: { message: "hello", agentId: stranger.agent.id } }),
    status: 404,
    code: "agent_not_found"
  },
  chat("there is no agent", { message: "hello" }, 500, "chat_failed", { as: ({ newcomer }) => newcomer }),
  chat("the agent is stopped", { message: "hello" }, 500, "chat_failed", { as: ({ idle }) => idle }),
  chat("the units are used up", { message: "hello" }, 402, "units_exhausted", { as: ({ spent }) => spent }),
  ...silent.map(([when, during]) => chat(when, { message: "hello" }, 500, "chat_failed", { during }))
]
