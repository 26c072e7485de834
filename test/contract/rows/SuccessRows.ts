import { runtimeVersion } from "../../support/ScriptedAgentManager.ts"
import type * as App from "../../support/WebApp.ts"
import type { SceneOf } from "../ErrorRow.ts"
import * as s from "../Shapes.ts"

/** A call that succeeds, and exactly what its answer carries. */
export interface SuccessRow {
  readonly what: string
  readonly listener?: "backend"
  readonly call: (scene: SceneOf) => App.AppCall
  readonly status?: number
  readonly shape: s.Shape
}

const agentItem = {
  id: s.id("agt"),
  name: s.text,
  model: s.text,
  status: s.matching(/^(provisioning|running|active|stopped|error)$/),
  websocketUrl: s.matching(/^ws:\/\/localhost:\d+\/agents\/agt_[0-9a-f]{32}\/ws$/),
  createdAt: s.timestamp
}
const agentListItem = { ...agentItem, updatedAt: s.timestamp }
const settings = {
  id: s.id("usr"),
  email: s.text,
  name: s.text,
  plan: s.is("pro"),
  credits: s.amount,
  twoFactorEnabled: s.flag
}
const instanceUrl = s.matching(/^http:\/\/[a-z0-9-]+\.agents\.localhost:\d+$/)
const subdomain = s.matching(/^[a-z0-9-]{1,63}$/)
const model = {
  id: s.text,
  name: s.text,
  provider: s.text,
  description: s.text,
  tags: [s.text],
  inputCost: s.amount,
  outputCost: s.amount,
  contextWindow: s.count,
  available: s.flag
} as const

const get =
  (path: string) =>
  ({ owner }: SceneOf) => ({ method: "GET", path, as: owner })
const post =
  (path: string, json: unknown) =>
  ({ owner }: SceneOf) => ({ method: "POST", path, as: owner, json })
const ofInstance =
  (method: string, path: string) =>
  ({ owner }: SceneOf) => ({
    method,
    path: `/api/instance/${owner.user.id}${path}`,
    as: owner
  })

const accountRows: ReadonlyArray<SuccessRow> = [
  { what: "GET /api/settings", call: get("/api/settings"), shape: settings },
  { what: "POST /api/settings", call: post("/api/settings", { name: "Ada" }), shape: settings },
  { what: "POST /api/settings with nothing to change", call: post("/api/settings", {}), shape: settings },
  {
    what: "PATCH /api/settings",
    call: ({ owner }) => ({
      method: "PATCH",
      path: "/api/settings",
      as: owner,
      json: { notifications: { product: true } }
    }),
    shape: {
      ...settings,
      notifications: { email: s.is(true), product: s.is(true), security: s.is(true), agentStatus: s.is(true) }
    }
  }
]

const signInSessionRows: ReadonlyArray<SuccessRow> = [
  {
    what: "GET /api/auth/sessions",
    call: get("/api/auth/sessions"),
    shape: {
      sessions: [
        {
          id: s.id("ses"),
          createdAt: s.timestamp,
          lastSeenAt: s.timestamp,
          userAgent: s.orNull(s.text),
          address: s.orNull(s.text),
          current: s.is(true)
        }
      ]
    }
  }
]

const recoveryRows: ReadonlyArray<SuccessRow> = [
  {
    what: "POST /api/auth/forgot-password",
    call: ({ owner }) => ({ method: "POST", path: "/api/auth/forgot-password", json: { email: owner.user.email } }),
    shape: { message: s.text }
  },
  {
    what: "POST /api/auth/reset-password",
    call: ({ resetToken }) => ({
      method: "POST",
      path: "/api/auth/reset-password",
      json: { token: resetToken, password: "another battery" }
    }),
    shape: { message: s.text }
  },
  { what: "POST /api/auth/verify-email", call: post("/api/auth/verify-email", {}), shape: { message: s.text } },
  {
    what: "GET /api/settings/referral",
    call: get("/api/settings/referral"),
    shape: {
      code: s.matching(/^[a-z0-9-]{1,20}$/),
      credits: s.amount,
      referrals: s.is(0),
      pending: s.is(0),
      earnedCredits: s.is(0),
      rewardsLeftToday: s.is(10)
    }
  }
]

const agentRows: ReadonlyArray<SuccessRow> = [
  {
    what: "GET /api/agents",
    call: get("/api/agents"),
    shape: { agents: [agentListItem], count: s.is(1), status: s.is("ok") }
  },
  {
    what: "GET /api/agents by nobody",
    call: () => ({ method: "GET", path: "/api/agents" }),
    shape: { agents: (value) => Array.isArray(value) && value.length === 0, count: s.is(0), status: s.is("ok") }
  },
  {
    what: "GET /api/agents/:id",
    call: ({ owner }) => ({ method: "GET", path: `/api/agents/${owner.agent.id}`, as: owner }),
    shape: {
      agent: {
        id: s.id("agt"),
        status: s.is("running"),
        startedAt: s.orNull(s.timestamp),
        plan: s.is("pro"),
        subdomain,
        url: instanceUrl,
        runtimeVersion: s.orNull(s.text),
        verified: s.is(false),
        verificationType: s.is(null),
        attestationUid: s.is(null),
        verifiedAt: s.is(null)
      },
      status: s.is("ok")
    }
  },
  {
    what: "GET /api/agents/provision",
    call: get("/api/agents/provision"),
    shape: { success: s.is(true), agents: [agentListItem], count: s.is(1) }
  },
  {
    what: "POST /api/agents/provision",
    call: ({ stranger }) => ({
      method: "POST",
      path: "/api/agents/provision",
      as: stranger,
      json: { name: "Another", tier: "enterprise" }
    }),
    status: 201,
    shape: {
      success: s.is(true),
      agent: { ...agentItem, status: s.is("provisioning"), model: s.is("claude-opus-4-6") }
    }
  }
]

const instanceRows: ReadonlyArray<SuccessRow> = [
  {
    what: "GET /api/instance/:userId",
    call: ofInstance("GET", ""),
    shape: {
      userId: s.id("usr"),
      status: s.text,
      startedAt: s.orNull(s.timestamp),
      subdomain,
      url: instanceUrl,
      plan: s.is("pro"),
      runtimeVersion: s.orNull(s.text)
    }
  },
  {
    what: "GET /api/instance/:userId/token",
    call: ofInstance("GET", "/token"),
    shape: { token: s.matching(/^[A-Za-z0-9_-]{43}$/) }
  },
  {
    what: "GET /api/instance/:userId/stats",
    call: ofInstance("GET", "/stats"),
    shape: {
      userId: s.id("usr"),
      cpu: s.is("1.23%"),
      memory: s.is("64.0MiB / 256.0MiB"),
      status: s.text,
      plan: s.text,
      runtimeVersion: s.orNull(s.text)
    }
  },
  {
    what: "POST /api/instance/:userId/start",
    call: ofInstance("POST", "/start"),
    shape: { success: s.is(true), status: s.is("active") }
  },
  {
    what: "POST /api/instance/:userId/stop",
    call: ofInstance("POST", "/stop"),
    shape: { success: s.is(true), status: s.is("stopped") }
  },
  {
    what: "POST /api/instance/:userId/restart",
    call: ofInstance("POST", "/restart"),
    shape: {
      success: s.is(true),
      status: s.is("active"),
      healedLegacyModel: s.is(false),
      healMessage: s.is(null),
      runtimeVersion: s.is(runtimeVersion)
    }
  },
  {
    what: "POST /api/instance/:userId/update",
    call: ofInstance("POST", "/update"),
    shape: { success: s.is(true), status: s.is("running") }
  },
  {
    what: "POST /api/instance/:userId/repair",
    call: ofInstance("POST", "/repair"),
    shape: { success: s.is(true), message: s.text }
  }
]

const summary = {
  id: s.id("chs"),
  status: s.is("active"),
  messageCount: s.count,
  createdAt: s.epochMillis,
  lastActivity: s.epochMillis
}
const reply = { sessionId: s.id("chs"), reply: s.is("Echo: hello"), timestamp: s.epochMillis }

/** In this order: what is read was said before. */
const interactionRows: ReadonlyArray<SuccessRow> = [
  {
    what: "GET /api/agent",
    call: get("/api/agent"),
    shape: { apiVersion: s.is("1.0.0"), serviceVersion: s.is("1.2.3-test"), endpoints: s.mapOf(s.text) }
  },
  { what: "POST /api/agent without action", call: post("/api/agent", { message: "hello" }), shape: reply },
  { what: "POST /api/agent chat", call: post("/api/agent", { action: "chat", message: "hello" }), shape: reply },
  {
    what: "POST /api/agent chat in a session",
    call: ({ owner }) => ({
      method: "POST",
      path: "/api/agent",
      as: owner,
      json: { message: "hello", sessionId: owner.conversation }
    }),
    shape: reply
  },
  {
    what: "POST /api/agent create-session",
    call: post("/api/agent", { action: "create-session" }),
    shape: { sessionId: s.id("chs"), status: s.is("active") }
  },
  {
    what: "GET /api/agent?action=sessions",
    call: get("/api/agent?action=sessions"),
    shape: { sessions: [summary] }
  },
  {
    what: "GET /api/agent?action=session",
    call: ({ owner }) => ({
      method: "GET",
      path: `/api/agent?action=session&sessionId=${owner.conversation}`,
      as: owner
    }),
    shape: {
      session: {
        ...summary,
        messages: [
          {
            id: s.id("msg"),
            role: s.matching(/^(user|assistant)$/),
            content: s.text,
            timestamp: s.epochMillis,
            status: s.is("answered")
          }
        ]
      }
    }
  },
  {
    what: "GET /api/agent?action=health",
    call: get("/api/agent?action=health"),
    shape: {
      status: s.is("running"),
      version: s.text,
      apiVersion: s.is("1.0.0"),
      uptime: s.count,
      model: s.is("claude-opus-4-6"),
      channels: [s.is("web")],
      skills: (value) => Array.isArray(value),
      lastSeen: s.epochMillis
    }
  },
  {
    what: "GET /api/agent?action=skills",
    call: get("/api/agent?action=skills"),
    shape: { skills: [{ id: s.text, name: s.text, description: s.text, enabled: s.flag }] }
  },
  {
    what: "POST /api/agent update-skill",
    call: post("/api/agent", { action: "update-skill", skillId: "time", enabled: true, agentId: null }),
    shape: { success: s.is(true), skillId: s.is("time"), enabled: s.is(true) }
  },
  {
    what: "POST /api/agent set-credential",
    call: post("/api/agent", { action: "set-credential", key: "discord", value: " a-token " }),
    shape: { success: s.is(true), key: s.is("discord"), configured: s.is(true) }
  },
  {
    what: "GET /api/agent?action=credentials",
    call: get("/api/agent?action=credentials"),
    shape: {
      credentials: {
        anthropic: s.is(false),
        openai: s.is(false),
        openrouter: s.is(false),
        google: s.is(false),
        telegram: s.is(false),
        discord: s.is(true),
        whatsapp: s.is(false)
      }
    }
  },
  {
    what: "POST /api/chat",
    call: post("/api/chat", { message: "hello", topic: "greetings" }),
    shape: {
      id: s.id("msg"),
      message: s.is("hello"),
      topic: s.is("greetings"),
      status: s.is("sent"),
      timestamp: s.timestamp,
      reply: s.is("Echo: hello")
    }
  },
  {
    what: "GET /api/chat",
    call: get("/api/chat"),
    shape: {
      messages: [
        {
          id: s.id("msg"),
          sender: s.matching(/^(user|agent)$/),
          message: s.text,
          topic: s.orNull(s.text),
          timestamp: s.timestamp
        }
      ],
      count: s.count
    }
  },
  {
    what: "GET /api/agent?action=memory",
    call: get("/api/agent?action=memory"),
    shape: { memory: [{ role: s.matching(/^(user|assistant)$/), content: s.text }] }
  }
]

const config = {
  model: s.is("claude-opus-4-6"),
  customModel: s.is(null),
  channels: [s.is("web")],
  skills: (value: unknown) => Array.isArray(value),
  systemPrompt: s.orNull(s.text),
  temperature: s.orNull(s.amount),
  maxTokens: s.orNull(s.count),
  timezone: s.text,
  heartbeat: s.orNull(s.text)
} as const

const page = (query: string, limit: number, offset: number): SuccessRow => ({
  what: `GET /api/agents/:id/messages${query}`,
  call: ({ owner }) => ({ method: "GET", path: `/api/agents/${owner.agent.id}/messages${query}`, as: owner }),
  shape: {
    messages: [
      {
        id: s.id("msg"),
        agentId: s.id("agt"),
        sender: s.matching(/^(user|agent)$/),
        content: s.text,
        timestamp: s.timestamp,
        platform: s.is("web")
      }
    ],
    total: s.count,
    limit: s.is(limit),
    offset: s.is(offset),
    status: s.is("ok")
  }
})

const logPage = (query: string, limit: number): SuccessRow => ({
  what: `GET /api/agents/:id/logs${query}`,
  call: ({ owner }) => ({ method: "GET", path: `/api/agents/${owner.agent.id}/logs${query}`, as: owner }),
  shape: {
    logs: [
      {
        id: s.text,
        timestamp: s.timestamp,
        level: s.matching(/^(info|warning|error|debug)$/),
        message: s.text,
        source: s.text,
        agentId: s.id("agt")
      }
    ],
    total: s.count,
    limit: s.is(limit),
    status: s.is("ok")
  }
})

const percent = s.matching(/^\d+\.\d\d%$/)
const unavailable = s.is("N/A")

/** After the conversations: the messages are theirs, and the last row forgets them. */
const recordRows: ReadonlyArray<SuccessRow> = [
  {
    what: "GET /api/agents/:id/config",
    call: ({ owner }) => ({ method: "GET", path: `/api/agents/${owner.agent.id}/config`, as: owner }),
    shape: { config, status: s.is("ok") }
  },
  {
    what: "PUT /api/agents/:id/config",
    call: ({ owner }) => ({
      method: "PUT",
      path: `/api/agents/${owner.agent.id}/config`,
      as: owner,
      json: { temperature: 0.5, systemPrompt: "Be brief." }
    }),
    shape: { config: { ...config, temperature: s.is(0.5), systemPrompt: s.is("Be brief.") }, status: s.is("updated") }
  },
  page("", 50, 0),
  page("?limit=5000&offset=1", 100, 1),
  page("?limit=0&offset=-3", 1, 0),
  logPage("", 50),
  logPage("?limit=5000&level=warning", 100),
  logPage("?limit=-1", 1),
  {
    what: "GET /api/agents/:id/stats",
    call: ({ owner }) => ({ method: "GET", path: `/api/agents/${owner.agent.id}/stats`, as: owner }),
    shape: {
      stats: {
        agentId: s.id("agt"),
        cpu: s.is("1.23%"),
        memory: s.is("64.0MiB / 256.0MiB"),
        memoryPercent: s.is("25.00%"),
        network: unavailable,
        uptime: s.count,
        uptimeFormatted: s.text,
        status: s.is("running"),
        pids: s.is("11"),
        messagesProcessed: s.matching(/^[1-9]\d*$/),
        messagesPerHour: s.matching(/^[1-9]\d*$/),
        averageResponseTime: s.matching(/^\d+$/),
        successRate: percent,
        errorRate: percent
      },
      status: s.is("ok")
    }
  },
  {
    what: "POST /api/instance/:userId/reset-memory",
    call: ofInstance("POST", "/reset-memory"),
    shape: { success: s.is(true), message: s.text }
  },
  {
    what: "GET /api/agent?action=memory after reset-memory",
    call: get("/api/agent?action=memory"),
    shape: { memory: (value) => Array.isArray(value) && value.length === 0 }
  },
  {
    what: "DELETE /api/agents/provision/:id",
    call: ({ idle }) => ({ method: "DELETE", path: `/api/agents/provision/${idle.agent.id}`, as: idle }),
    shape: { success: s.is(true) }
  }
]

const sessionRows: ReadonlyArray<SuccessRow> = [
  {
    what: "POST /api/auth/token",
    call: ({ owner }) => ({ method: "POST", path: "/api/auth/token", as: owner }),
    shape: { token: s.matching(/^[\w-]+\.[\w-]+\.[\w-]+$/), expiresAt: s.timestamp }
  },
  {
    what: "GET /.well-known/jwks.json",
    call: () => ({ method: "GET", path: "/.well-known/jwks.json" }),
    shape: {
      keys: [
        {
          kty: s.is("OKP"),
          crv: s.is("Ed25519"),
          x: s.matching(/^[\w-]{43}$/),
          kid: s.matching(/^[\w-]{43}$/),
          alg: s.is("EdDSA"),
          use: s.is("sig")
        }
      ]
    }
  },
  {
    what: "GET /api/auth/session",
    call: get("/api/auth/session"),
    shape: { user: { id: s.id("usr"), email: s.text, name: s.text }, expiresAt: s.matching(/^\d{4}-.*Z$/) }
  },
  {
    what: "GET /api/auth/session by nobody",
    call: () => ({ method: "GET", path: "/api/auth/session" }),
    shape: { user: s.is(null), expiresAt: s.is(null) }
  }
]

const walletRows: ReadonlyArray<SuccessRow> = [
  {
    what: "GET /api/auth/nonce",
    call: () => ({ method: "GET", path: "/api/auth/nonce" }),
    shape: { nonce: s.matching(/^[A-Za-z0-9]{24}$/) }
  },
  {
    what: "GET /api/settings/wallets without one",
    call: get("/api/settings/wallets"),
    shape: { wallets: (value) => Array.isArray(value) && value.length === 0 }
  }
]

const metadata = (path: string): SuccessRow => ({
  what: `GET ${path}`,
  call: () => ({ method: "GET", path }),
  shape: {
    endpoint: s.is(path),
    method: s.is("POST"),
    description: s.text,
    body: s.mapOf(s.text),
    response: s.mapOf(s.text)
  }
})

const socialIdentityRows: ReadonlyArray<SuccessRow> = [
  metadata("/api/auth/socialIdentity/verify"),
  metadata("/api/auth/socialIdentity/refresh")
]

const ai = (what: `${"GET" | "POST"} ${string}`, shape: s.Shape, json?: unknown): SuccessRow => {
  const [method = "", path = ""] = what.split(" ")
  return { what, listener: "backend", call: () => ({ method, path, ...(json === undefined ? {} : { json }) }), shape }
}

const messages = [{ role: "user", content: "hello" }]

const aiRows: ReadonlyArray<SuccessRow> = [
  ai("GET /api/ai/health", { status: s.is("healthy"), providers: s.mapOf(s.is(true)), timestamp: s.timestamp }),
  ai("GET /api/ai/models", {
    models: [model],
    count: s.is(2),
    providers: { anthropic: s.is(1), openai: s.is(1) },
    timestamp: s.timestamp
  }),
  ai("GET /api/ai/models/openai", {
    provider: s.is("openai"),
    models: [model],
    count: s.is(1),
    timestamp: s.timestamp
  }),
  ai(
    "POST /api/ai/models/select",
    { model: { id: s.text, provider: s.text }, taskType: s.is("coding"), timestamp: s.timestamp },
    { taskType: "coding" }
  ),
  ai("POST /api/ai/models/select", {
    model: { id: s.text, provider: s.text },
    taskType: s.is("general"),
    timestamp: s.timestamp
  }),
  ai(
    "POST /api/ai/chat",
    {
      id: s.id("cpl"),
      model: s.is("openai/gpt-4"),
      provider: s.is("openai"),
      message: { role: s.is("assistant"), content: s.is("Good day.") },
      usage: { promptTokens: s.is(7), completionTokens: s.is(3), totalTokens: s.is(10) },
      timestamp: s.timestamp
    },
    { messages, model: "gpt-4", temperature: 0.5, top_p: 1, max_tokens: 10 }
  ),
  ai(
    "POST /api/ai/estimate-cost",
    {
      model: s.is("gpt-4"),
      inputTokens: s.is(1_000_000),
      outputTokens: s.is(100_000),
      estimatedCost: s.is(4.5),
      currency: s.is("USD"),
      timestamp: s.timestamp
    },
    { model: "gpt-4", inputTokens: 1_000_000, outputTokens: 100_000 }
  )
]

const gatewayAnswer = (plugin: string) => ({
  plugin: s.is(plugin),
  message: s.text,
  timestamp: s.timestamp,
  payment: { method: s.is("card"), receipt: s.is(null) }
})
const gatewayRows: ReadonlyArray<SuccessRow> = [
  { what: "POST /api/v1/gateway", call: post("/api/v1/gateway", { messages }), shape: gatewayAnswer("generate-text") },
  ...[
    { plugin: "agent", messages },
    { plugin: "tts", text: "Hello" },
    { plugin: "stt", audio: "SUQzBwcH" }
  ].map((json) => ({
    what: `POST /api/v1/gateway for ${json.plugin}`,
    call: post("/api/v1/gateway", json),
    shape: gatewayAnswer(json.plugin)
  }))
]

export const successRows: ReadonlyArray<SuccessRow> = [
  ...accountRows,
  ...signInSessionRows,
  ...recoveryRows,
  ...agentRows,
  ...instanceRows,
  ...interactionRows,
  ...recordRows,
  ...sessionRows,
  ...walletRows,
  ...socialIdentityRows,
  ...aiRows,
  ...gatewayRows
]
