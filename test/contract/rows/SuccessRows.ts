import { cardEventRequest, makeCardEvent } from "../../support/billing/CardEventRequests.ts"
import { fakeRuntimeVersion } from "@berth/infra/backend/AgentManagerTest"
import type * as App from "../../support/TestApp.ts"
import type { ErrorRowFixturesService } from "../ErrorRow.ts"
import * as s from "../ResponseShapes.ts"

interface SuccessRow {
  readonly what: string
  readonly listener?: "backend"
  readonly call: (scene: ErrorRowFixturesService) => App.AppCall
  readonly status?: number
  readonly shape: s.ResponseShape
}

const agentItem = {
  id: s.prefixedId("agt"),
  name: s.nonEmptyText,
  model: s.nonEmptyText,
  status: s.matchingPattern(/^(provisioning|running|active|stopped|error)$/),
  websocketUrl: s.matchingPattern(/^ws:\/\/localhost:\d+\/agents\/agt_[0-9a-f]{32}\/ws$/),
  createdAt: s.recentTimestamp
}
const agentListItem = { ...agentItem, updatedAt: s.recentTimestamp }
const settings = {
  id: s.prefixedId("usr"),
  email: s.nonEmptyText,
  name: s.nonEmptyText,
  plan: s.equalTo("pro"),
  credits: s.finiteNumber,
  twoFactorEnabled: s.booleanValue
}
const instanceUrl = s.matchingPattern(/^http:\/\/[a-z0-9-]+\.agents\.localhost:\d+$/)
const subdomain = s.matchingPattern(/^[a-z0-9-]{1,63}$/)
const model = {
  id: s.nonEmptyText,
  name: s.nonEmptyText,
  provider: s.nonEmptyText,
  description: s.nonEmptyText,
  tags: [s.nonEmptyText],
  inputCost: s.finiteNumber,
  outputCost: s.finiteNumber,
  contextWindow: s.naturalNumber,
  available: s.booleanValue
} as const

const get =
  (path: string) =>
  ({ owner }: ErrorRowFixturesService) => ({ method: "GET", path, as: owner })
const post =
  (path: string, json: unknown) =>
  ({ owner }: ErrorRowFixturesService) => ({ method: "POST", path, as: owner, json })
const ofInstance =
  (method: string, path: string) =>
  ({ owner }: ErrorRowFixturesService) => ({
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
      notifications: {
        email: s.equalTo(true),
        product: s.equalTo(true),
        security: s.equalTo(true),
        agentStatus: s.equalTo(true)
      }
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
          id: s.prefixedId("ses"),
          createdAt: s.recentTimestamp,
          lastSeenAt: s.recentTimestamp,
          userAgent: s.orNull(s.nonEmptyText),
          address: s.orNull(s.nonEmptyText),
          current: s.equalTo(true)
        }
      ]
    }
  }
]

const recoveryRows: ReadonlyArray<SuccessRow> = [
  {
    what: "POST /api/auth/forgot-password",
    call: ({ owner }) => ({ method: "POST", path: "/api/auth/forgot-password", json: { email: owner.user.email } }),
    shape: { message: s.nonEmptyText }
  },
  {
    what: "POST /api/auth/reset-password",
    call: ({ resetToken }) => ({
      method: "POST",
      path: "/api/auth/reset-password",
      json: { token: resetToken, password: "another battery" }
    }),
    shape: { message: s.nonEmptyText }
  },
  { what: "POST /api/auth/verify-email", call: post("/api/auth/verify-email", {}), shape: { message: s.nonEmptyText } },
  {
    what: "GET /api/settings/referral",
    call: get("/api/settings/referral"),
    shape: {
      code: s.matchingPattern(/^[a-z0-9-]{1,20}$/),
      credits: s.finiteNumber,
      referrals: s.equalTo(0),
      pending: s.equalTo(0),
      earnedCredits: s.equalTo(0),
      rewardsLeftToday: s.equalTo(10)
    }
  },
  { what: "GET /api/settings/claim", call: get("/api/settings/claim"), shape: { claimedAt: s.equalTo(null) } }
]

const agentRows: ReadonlyArray<SuccessRow> = [
  {
    what: "GET /api/agents",
    call: get("/api/agents"),
    shape: { agents: [agentListItem], count: s.equalTo(1), status: s.equalTo("ok") }
  },
  {
    what: "GET /api/agents by nobody",
    call: () => ({ method: "GET", path: "/api/agents" }),
    shape: {
      agents: (value) => Array.isArray(value) && value.length === 0,
      count: s.equalTo(0),
      status: s.equalTo("ok")
    }
  },
  {
    what: "GET /api/agents/:id",
    call: ({ owner }) => ({ method: "GET", path: `/api/agents/${owner.agent.id}`, as: owner }),
    shape: {
      agent: {
        id: s.prefixedId("agt"),
        status: s.equalTo("running"),
        startedAt: s.orNull(s.recentTimestamp),
        plan: s.equalTo("pro"),
        subdomain,
        url: instanceUrl,
        runtimeVersion: s.orNull(s.nonEmptyText),
        verified: s.equalTo(false),
        verificationType: s.equalTo(null),
        attestationUid: s.equalTo(null),
        verifiedAt: s.equalTo(null)
      },
      status: s.equalTo("ok")
    }
  },
  {
    what: "GET /api/agents/provision",
    call: get("/api/agents/provision"),
    shape: { success: s.equalTo(true), agents: [agentListItem], count: s.equalTo(1) }
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
      success: s.equalTo(true),
      agent: { ...agentItem, status: s.equalTo("provisioning"), model: s.equalTo("claude-opus-4-6") }
    }
  }
]

const deployment = (who: "owner" | "idle", status: number): SuccessRow => ({
  what: `POST /api/deployments for ${who === "owner" ? "a running" : "a stopped"} agent`,
  call: (scene) => ({
    method: "POST",
    path: "/api/deployments",
    as: scene[who],
    json: { agentId: scene[who].agent.id }
  }),
  status,
  shape: {
    id: s.prefixedId("dep"),
    agentId: s.prefixedId("agt"),
    subdomain,
    url: instanceUrl,
    status: s.nonEmptyText,
    runtimeVersion: s.orNull(s.nonEmptyText)
  }
})

const instanceRows: ReadonlyArray<SuccessRow> = [
  deployment("owner", 200),
  deployment("idle", 201),
  {
    what: "GET /api/instance/:userId",
    call: ofInstance("GET", ""),
    shape: {
      userId: s.prefixedId("usr"),
      status: s.nonEmptyText,
      startedAt: s.orNull(s.recentTimestamp),
      subdomain,
      url: instanceUrl,
      plan: s.equalTo("pro"),
      runtimeVersion: s.orNull(s.nonEmptyText)
    }
  },
  {
    what: "GET /api/instance/:userId/token",
    call: ofInstance("GET", "/token"),
    shape: { token: s.matchingPattern(/^[A-Za-z0-9_-]{43}$/) }
  },
  {
    what: "GET /api/instance/:userId/stats",
    call: ofInstance("GET", "/stats"),
    shape: {
      userId: s.prefixedId("usr"),
      cpu: s.equalTo("1.23%"),
      memory: s.equalTo("64.0MiB / 256.0MiB"),
      status: s.nonEmptyText,
      plan: s.nonEmptyText,
      runtimeVersion: s.orNull(s.nonEmptyText)
    }
  },
  {
    what: "GET /api/instance/:userId/storage",
    call: ofInstance("GET", "/storage"),
    shape: { usedBytes: s.equalTo(3 * 1024 * 1024), limitBytes: s.equalTo(2 * 1024 ** 3) }
  },
  {
    what: "POST /api/instance/:userId/start",
    call: ofInstance("POST", "/start"),
    shape: { success: s.equalTo(true), status: s.equalTo("active") }
  },
  {
    what: "POST /api/instance/:userId/stop",
    call: ofInstance("POST", "/stop"),
    shape: { success: s.equalTo(true), status: s.equalTo("stopped") }
  },
  {
    what: "POST /api/instance/:userId/restart",
    call: ofInstance("POST", "/restart"),
    shape: {
      success: s.equalTo(true),
      status: s.equalTo("active"),
      healedLegacyModel: s.equalTo(false),
      healMessage: s.equalTo(null),
      runtimeVersion: s.equalTo(fakeRuntimeVersion)
    }
  },
  {
    what: "POST /api/instance/:userId/update",
    call: ofInstance("POST", "/update"),
    shape: { success: s.equalTo(true), status: s.equalTo("running") }
  },
  {
    what: "POST /api/instance/:userId/repair",
    call: ofInstance("POST", "/repair"),
    shape: { success: s.equalTo(true), message: s.nonEmptyText }
  }
]

const summary = {
  id: s.prefixedId("chs"),
  status: s.equalTo("active"),
  messageCount: s.naturalNumber,
  createdAt: s.recentEpochMillis,
  lastActivity: s.recentEpochMillis
}
const reply = { sessionId: s.prefixedId("chs"), reply: s.equalTo("Echo: hello"), timestamp: s.recentEpochMillis }

/** Ordered: later rows read earlier messages. */
const interactionRows: ReadonlyArray<SuccessRow> = [
  {
    what: "GET /api/agent",
    call: get("/api/agent"),
    shape: {
      apiVersion: s.equalTo("1.0.0"),
      serviceVersion: s.equalTo("1.2.3-test"),
      endpoints: s.recordOf(s.nonEmptyText)
    }
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
    shape: { sessionId: s.prefixedId("chs"), status: s.equalTo("active") }
  },
  {
    what: "GET /api/agent?action=sessions",
    call: get("/api/agent?action=sessions"),
    shape: { sessions: [summary] }
  },
  {
    what: "GET /api/agent?action=sessions&include=preview",
    call: get("/api/agent?action=sessions&include=preview"),
    shape: { sessions: [{ ...summary, preview: s.matchingPattern(/^(hello|)$/) }] }
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
            id: s.prefixedId("msg"),
            role: s.matchingPattern(/^(user|assistant)$/),
            content: s.nonEmptyText,
            timestamp: s.recentEpochMillis,
            status: s.equalTo("answered"),
            failure: s.equalTo(null),
            model: s.orNull(s.nonEmptyText),
            provider: s.orNull(s.nonEmptyText),
            units: s.orNull(s.naturalNumber),
            costMicros: s.orNull(s.naturalNumber),
            durationMs: s.orNull(s.naturalNumber),
            stopped: s.equalTo(false),
            toolCalls: (calls) => Array.isArray(calls) && calls.length === 0,
            attachments: (files) => Array.isArray(files) && files.length === 0
          }
        ]
      }
    }
  },
  {
    what: "GET /api/agents/overviews",
    call: get("/api/agents/overviews"),
    shape: {
      agents: [
        {
          agentId: s.prefixedId("agt"),
          status: agentListItem.status,
          model: s.orNull(s.nonEmptyText),
          provider: s.orNull(s.nonEmptyText),
          lastMessage: (message) => message === null || typeof message === "object",
          unitsToday: s.naturalNumber
        }
      ]
    }
  },
  {
    what: "PATCH /api/agent/sessions/:sessionId",
    call: ({ owner }) => ({
      method: "PATCH",
      path: `/api/agent/sessions/${owner.conversation}`,
      as: owner,
      json: { title: "Letters" }
    }),
    shape: { session: { ...summary, title: s.equalTo("Letters") } }
  },
  {
    what: "GET /api/agent?action=health",
    call: get("/api/agent?action=health"),
    shape: {
      status: s.equalTo("running"),
      version: s.nonEmptyText,
      apiVersion: s.equalTo("1.0.0"),
      uptime: s.naturalNumber,
      model: s.equalTo("claude-opus-4-6"),
      channels: [s.equalTo("web")],
      skills: (value) => Array.isArray(value),
      lastSeen: s.recentEpochMillis
    }
  },
  {
    what: "GET /api/agent?action=skills",
    call: get("/api/agent?action=skills"),
    shape: {
      skills: [{ id: s.nonEmptyText, name: s.nonEmptyText, description: s.nonEmptyText, enabled: s.booleanValue }]
    }
  },
  {
    what: "POST /api/agent update-skill",
    call: post("/api/agent", { action: "update-skill", skillId: "time", enabled: true, agentId: null }),
    shape: { success: s.equalTo(true), skillId: s.equalTo("time"), enabled: s.equalTo(true) }
  },
  {
    what: "POST /api/agent set-credential",
    call: post("/api/agent", { action: "set-credential", key: "discord", value: " a-token " }),
    shape: { success: s.equalTo(true), key: s.equalTo("discord"), configured: s.equalTo(true) }
  },
  {
    what: "GET /api/agent?action=credentials",
    call: get("/api/agent?action=credentials"),
    shape: {
      credentials: {
        anthropic: s.equalTo(false),
        openai: s.equalTo(false),
        openrouter: s.equalTo(false),
        google: s.equalTo(false),
        telegram: s.equalTo(false),
        discord: s.equalTo(true),
        whatsapp: s.equalTo(false)
      }
    }
  },
  {
    what: "POST /api/chat",
    call: post("/api/chat", { message: "hello", topic: "greetings" }),
    shape: {
      id: s.prefixedId("msg"),
      message: s.equalTo("hello"),
      topic: s.equalTo("greetings"),
      status: s.equalTo("sent"),
      timestamp: s.recentTimestamp,
      reply: s.equalTo("Echo: hello")
    }
  },
  {
    what: "GET /api/chat",
    call: get("/api/chat"),
    shape: {
      messages: [
        {
          id: s.prefixedId("msg"),
          sender: s.matchingPattern(/^(user|agent)$/),
          message: s.nonEmptyText,
          topic: s.orNull(s.nonEmptyText),
          timestamp: s.recentTimestamp
        }
      ],
      count: s.naturalNumber
    }
  },
  {
    what: "GET /api/agent?action=memory",
    call: get("/api/agent?action=memory"),
    shape: { memory: [{ role: s.matchingPattern(/^(user|assistant)$/), content: s.nonEmptyText }] }
  }
]

const config = {
  model: s.equalTo("claude-opus-4-6"),
  customModel: s.equalTo(null),
  channels: [s.equalTo("web")],
  skills: (value: unknown) => Array.isArray(value),
  systemPrompt: s.orNull(s.nonEmptyText),
  temperature: s.orNull(s.finiteNumber),
  maxTokens: s.orNull(s.naturalNumber),
  timezone: s.nonEmptyText,
  heartbeat: s.orNull(s.nonEmptyText)
} as const

const page = (query: string, limit: number, offset: number): SuccessRow => ({
  what: `GET /api/agents/:id/messages${query}`,
  call: ({ owner }) => ({ method: "GET", path: `/api/agents/${owner.agent.id}/messages${query}`, as: owner }),
  shape: {
    messages: [
      {
        id: s.prefixedId("msg"),
        agentId: s.prefixedId("agt"),
        sender: s.matchingPattern(/^(user|agent)$/),
        content: s.nonEmptyText,
        timestamp: s.recentTimestamp,
        platform: s.equalTo("web")
      }
    ],
    total: s.naturalNumber,
    limit: s.equalTo(limit),
    offset: s.equalTo(offset),
    status: s.equalTo("ok")
  }
})

const logPage = (query: string, limit: number): SuccessRow => ({
  what: `GET /api/agents/:id/logs${query}`,
  call: ({ owner }) => ({ method: "GET", path: `/api/agents/${owner.agent.id}/logs${query}`, as: owner }),
  shape: {
    logs: [
      {
        id: s.nonEmptyText,
        timestamp: s.recentTimestamp,
        level: s.matchingPattern(/^(info|warning|error|debug)$/),
        message: s.nonEmptyText,
        source: s.nonEmptyText,
        agentId: s.prefixedId("agt")
      }
    ],
    total: s.naturalNumber,
    limit: s.equalTo(limit),
    status: s.equalTo("ok")
  }
})

const percent = s.matchingPattern(/^\d+\.\d\d%$/)
const unavailable = s.equalTo("N/A")

/** After the conversations, whose messages they use; the last row deletes them. */
const recordRows: ReadonlyArray<SuccessRow> = [
  {
    what: "GET /api/agents/:id/config",
    call: ({ owner }) => ({ method: "GET", path: `/api/agents/${owner.agent.id}/config`, as: owner }),
    shape: { config, status: s.equalTo("ok") }
  },
  {
    what: "PUT /api/agents/:id/config",
    call: ({ owner }) => ({
      method: "PUT",
      path: `/api/agents/${owner.agent.id}/config`,
      as: owner,
      json: { temperature: 0.5, systemPrompt: "Be brief." }
    }),
    shape: {
      config: { ...config, temperature: s.equalTo(0.5), systemPrompt: s.equalTo("Be brief.") },
      status: s.equalTo("updated")
    }
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
        agentId: s.prefixedId("agt"),
        cpu: s.equalTo("1.23%"),
        memory: s.equalTo("64.0MiB / 256.0MiB"),
        memoryPercent: s.equalTo("25.00%"),
        network: unavailable,
        uptime: s.naturalNumber,
        uptimeFormatted: s.nonEmptyText,
        status: s.equalTo("running"),
        pids: s.equalTo("11"),
        messagesProcessed: s.matchingPattern(/^[1-9]\d*$/),
        messagesPerHour: s.matchingPattern(/^[1-9]\d*$/),
        averageResponseTime: s.matchingPattern(/^\d+$/),
        successRate: percent,
        errorRate: percent
      },
      status: s.equalTo("ok")
    }
  },
  {
    what: "POST /api/instance/:userId/reset-memory",
    call: ofInstance("POST", "/reset-memory"),
    shape: { success: s.equalTo(true), message: s.nonEmptyText }
  },
  {
    what: "GET /api/agent?action=memory after reset-memory",
    call: get("/api/agent?action=memory"),
    shape: { memory: (value) => Array.isArray(value) && value.length === 0 }
  },
  {
    what: "DELETE /api/agents/provision/:id",
    call: ({ idle }) => ({ method: "DELETE", path: `/api/agents/provision/${idle.agent.id}`, as: idle }),
    shape: { success: s.equalTo(true) }
  }
]

const sessionRows: ReadonlyArray<SuccessRow> = [
  {
    what: "POST /api/auth/token",
    call: ({ owner }) => ({ method: "POST", path: "/api/auth/token", as: owner }),
    shape: { token: s.matchingPattern(/^[\w-]+\.[\w-]+\.[\w-]+$/), expiresAt: s.recentTimestamp }
  },
  {
    what: "GET /.well-known/jwks.json",
    call: () => ({ method: "GET", path: "/.well-known/jwks.json" }),
    shape: {
      keys: [
        {
          kty: s.equalTo("OKP"),
          crv: s.equalTo("Ed25519"),
          x: s.matchingPattern(/^[\w-]{43}$/),
          kid: s.matchingPattern(/^[\w-]{43}$/),
          alg: s.equalTo("EdDSA"),
          use: s.equalTo("sig")
        }
      ]
    }
  },
  {
    what: "GET /api/auth/session",
    call: get("/api/auth/session"),
    shape: {
      user: { id: s.prefixedId("usr"), email: s.nonEmptyText, name: s.nonEmptyText },
      expiresAt: s.matchingPattern(/^\d{4}-.*Z$/)
    }
  },
  {
    what: "GET /api/auth/session by nobody",
    call: () => ({ method: "GET", path: "/api/auth/session" }),
    shape: { user: s.equalTo(null), expiresAt: s.equalTo(null) }
  }
]

const walletRows: ReadonlyArray<SuccessRow> = [
  {
    what: "GET /api/auth/nonce",
    call: () => ({ method: "GET", path: "/api/auth/nonce" }),
    shape: { nonce: s.matchingPattern(/^[A-Za-z0-9]{24}$/) }
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
    endpoint: s.equalTo(path),
    method: s.equalTo("POST"),
    description: s.nonEmptyText,
    body: s.recordOf(s.nonEmptyText),
    response: s.recordOf(s.nonEmptyText)
  }
})

const socialIdentityRows: ReadonlyArray<SuccessRow> = [
  metadata("/api/auth/socialIdentity/verify"),
  metadata("/api/auth/socialIdentity/refresh")
]

const ai = (what: `${"GET" | "POST"} ${string}`, shape: s.ResponseShape, json?: unknown): SuccessRow => {
  const [method = "", path = ""] = what.split(" ")
  return { what, listener: "backend", call: () => ({ method, path, ...(json === undefined ? {} : { json }) }), shape }
}

const messages = [{ role: "user", content: "hello" }]

const aiRows: ReadonlyArray<SuccessRow> = [
  ai("GET /api/ai/health", {
    status: s.equalTo("healthy"),
    providers: s.recordOf(s.equalTo(true)),
    timestamp: s.recentTimestamp
  }),
  ai("GET /api/ai/models", {
    models: [model],
    count: s.equalTo(2),
    providers: { anthropic: s.equalTo(1), openai: s.equalTo(1) },
    timestamp: s.recentTimestamp
  }),
  ai("GET /api/ai/models/openai", {
    provider: s.equalTo("openai"),
    models: [model],
    count: s.equalTo(1),
    timestamp: s.recentTimestamp
  }),
  ai(
    "POST /api/ai/models/select",
    {
      model: { id: s.nonEmptyText, provider: s.nonEmptyText },
      taskType: s.equalTo("coding"),
      timestamp: s.recentTimestamp
    },
    { taskType: "coding" }
  ),
  ai("POST /api/ai/models/select", {
    model: { id: s.nonEmptyText, provider: s.nonEmptyText },
    taskType: s.equalTo("general"),
    timestamp: s.recentTimestamp
  }),
  ai(
    "POST /api/ai/chat",
    {
      id: s.prefixedId("cpl"),
      model: s.equalTo("openai/gpt-4"),
      provider: s.equalTo("openai"),
      message: { role: s.equalTo("assistant"), content: s.equalTo("Good day.") },
      usage: { promptTokens: s.equalTo(7), completionTokens: s.equalTo(3), totalTokens: s.equalTo(10) },
      timestamp: s.recentTimestamp
    },
    { messages, model: "gpt-4", temperature: 0.5, top_p: 1, max_tokens: 10 }
  ),
  ai(
    "POST /api/ai/estimate-cost",
    {
      model: s.equalTo("gpt-4"),
      inputTokens: s.equalTo(1_000_000),
      outputTokens: s.equalTo(100_000),
      estimatedCost: s.equalTo(4.5),
      currency: s.equalTo("USD"),
      timestamp: s.recentTimestamp
    },
    { model: "gpt-4", inputTokens: 1_000_000, outputTokens: 100_000 }
  )
]

const gatewayAnswer = (plugin: string) => ({
  plugin: s.equalTo(plugin),
  message: s.nonEmptyText,
  timestamp: s.recentTimestamp,
  payment: { method: s.equalTo("card"), receipt: s.equalTo(null) }
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

const webhookRows: ReadonlyArray<SuccessRow> = [
  {
    what: "POST /api/webhooks/cardProcessor",
    call: () => cardEventRequest(makeCardEvent("charge.refunded", { id: "ch_1" })),
    shape: { received: s.equalTo(true) }
  }
]

const absentChannel = {
  configured: s.equalTo(false),
  enabled: s.equalTo(false),
  health: s.equalTo(null),
  bot: s.equalTo(null),
  transport: s.equalTo(null),
  webhookUrl: s.equalTo(null),
  answersBots: s.equalTo(false)
}
const newChannel = {
  ...absentChannel,
  configured: s.equalTo(true),
  enabled: s.equalTo(true),
  health: { state: s.equalTo("pending"), reason: s.equalTo(null), checkedAt: s.equalTo(null) }
}

/** Last: a channel is added to the agent's configuration. */
const channelRows: ReadonlyArray<SuccessRow> = [
  {
    what: "PUT /api/agents/:id/channels",
    call: ({ owner }) => ({
      method: "PUT",
      path: `/api/agents/${owner.agent.id}/channels`,
      as: owner,
      json: { platformB: { token: "a-token", appSecret: "a-secret" } }
    }),
    shape: {
      channels: { platformA: absentChannel, platformB: newChannel, platformC: absentChannel },
      status: s.equalTo("updated")
    }
  },
  {
    what: "GET /api/agents/:id/channels",
    call: ({ owner }) => ({ method: "GET", path: `/api/agents/${owner.agent.id}/channels`, as: owner }),
    shape: {
      channels: { platformA: absentChannel, platformB: newChannel, platformC: absentChannel },
      status: s.equalTo("ok")
    }
  }
]

export const successRows: ReadonlyArray<SuccessRow> = [
  ...accountRows,
  ...webhookRows,
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
  ...gatewayRows,
  ...channelRows
]
