import { queryOptions, useQuery, useQueryClient } from "@tanstack/react-query"
import { call, callBilling, receiveBody, segment, send } from "./api.ts"
import { settings } from "./settings.ts"
import type {
  AccountJson,
  AgentConfigAnswerJson,
  AgentListJson,
  AgentOverviewJson,
  BillingJson,
  BillingHistoryJson,
  BudgetsJson,
  InstanceStorageJson,
  SessionJson,
  SessionPageJson
} from "./wire.ts"

export const agentPath = (agentId: string, rest = "") => `/api/agents/${segment(agentId)}${rest}`
export const ownInstancePath = (rest = "") => `/api/instance/${segment(settings.userId)}${rest}`

/** Whether events keep the agents up to date. */
export const watching = { isLive: false }

/** Without events, statuses are polled, more often while one changes. */
export const agentsQuery = queryOptions({
  queryKey: ["agents"],
  queryFn: ({ signal }) => call<AgentListJson>("GET", "/api/agents", { signal }),
  refetchInterval: ({ state: { data } }) =>
    watching.isLive ? 60_000 : data?.agents.some(({ status }) => status === "provisioning") === true ? 1_000 : 10_000
})

export const overviewsPath = "/api/agents/overviews"

export const overviewsQuery = queryOptions({
  queryKey: ["overviews"],
  queryFn: async ({ signal }) =>
    (await call<{ readonly agents: ReadonlyArray<AgentOverviewJson> }>("GET", overviewsPath, { signal })).agents,
  refetchInterval: () => (watching.isLive ? false : 15_000)
})

/** With `warning`: the model that replaces the agent's if no configured provider serves it, as a sentence; else null. */
export const agentConfigQuery = (agentId: string) =>
  queryOptions({
    queryKey: ["agent", agentId, "config"],
    queryFn: async ({ signal }) => {
      const response = await send("GET", agentPath(agentId, "/config"), { signal })
      const { config } = await receiveBody<AgentConfigAnswerJson>(response)
      const [, quoted] = /^199 - "(.*)"$/.exec(response.headers.get("warning") ?? "") ?? []
      return { config, warning: quoted?.replaceAll(/\\(.)/g, "$1") ?? null }
    }
  })

export const storageQuery = queryOptions({
  queryKey: ["instance", "storage"],
  queryFn: ({ signal }) => call<InstanceStorageJson>("GET", ownInstancePath("/storage"), { signal })
})

export const conversationsQuery = (agentId: string, search = "") =>
  queryOptions({
    queryKey: ["agent", agentId, "conversations", search],
    queryFn: async ({ signal }) =>
      (
        await call<{ readonly sessions: ReadonlyArray<SessionJson> }>("GET", "/api/agent", {
          query: { action: "sessions", agentId, include: "preview", search: search === "" ? undefined : search },
          signal
        })
      ).sessions
  })

/** Reads a page of a conversation, oldest message first. */
export const readConversation = async (
  sessionId: string,
  {
    before,
    limit,
    signal
  }: { readonly before?: string | undefined; readonly limit: number; readonly signal?: AbortSignal }
) =>
  (
    await call<{ readonly session: SessionPageJson }>("GET", "/api/agent", {
      query: { action: "session", sessionId, limit, before },
      signal
    })
  ).session

export const accountQuery = queryOptions({
  queryKey: ["account"],
  queryFn: ({ signal }) => call<AccountJson>("GET", "/api/settings", { signal })
})

export const billingQuery = queryOptions({
  queryKey: ["billing"],
  queryFn: ({ signal }) => callBilling<BillingJson>("GET", "/api/billing", { signal })
})

export const budgetsPath = "/api/billing/budgets"

export const budgetsQuery = queryOptions({
  queryKey: ["billing", "budgets"],
  queryFn: ({ signal }) => callBilling<BudgetsJson>("GET", budgetsPath, { signal })
})

/** Whether neither the service nor the owner has a key of a model provider. */
export const useRepliesFromSandbox = () => {
  const { data } = useQuery({ ...billingQuery, enabled: settings.repliesFromSandbox })
  return settings.repliesFromSandbox && data?.byokEnabled !== true
}

export const historyPage = 100

export const billingHistoryQuery = (offset: number) =>
  queryOptions({
    queryKey: ["billing", "history", offset],
    queryFn: ({ signal }) =>
      callBilling<BillingHistoryJson>("GET", "/api/billing/history", { query: { limit: historyPage, offset }, signal })
  })

/** Reloads all data that an action may have changed. */
export const useRefresh = () => {
  const client = useQueryClient()
  return (...keys: ReadonlyArray<string>) => client.invalidateQueries({ queryKey: keys })
}
