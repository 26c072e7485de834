import { type QueryClient, useQuery, useQueryClient } from "@tanstack/react-query"
import { useEffect } from "react"
import { RequestFailed, send } from "../api.ts"
import { readEvents, waitToRetry } from "../events.ts"
import { agentsQuery, overviewsPath, overviewsQuery, useRepliesFromSandbox, watching } from "../queries.ts"
import { texts } from "../texts.ts"
import type { AgentItemJson, AgentOverviewEventJson, AgentOverviewJson } from "../wire.ts"

/** The model of an agent whose configuration names another one. */
export const customModel = "custom"

const isChange = (value: unknown): value is AgentOverviewEventJson =>
  typeof value === "object" && value !== null && "agents" in value && "removed" in value

/** Updates the overviews and statuses of agents; `isFirst`: the change contains every agent. */
const applyChange = (client: QueryClient, { agents, removed }: AgentOverviewEventJson, isFirst: boolean) => {
  const changed = new Map(agents.map((overview) => [overview.agentId, overview]))
  client.setQueryData(overviewsQuery.queryKey, (old) => {
    const unchanged = isFirst
      ? []
      : (old ?? []).filter(({ agentId }) => !changed.has(agentId) && !removed.includes(agentId))
    return [...unchanged, ...agents]
  })
  const known = client.getQueryData(agentsQuery.queryKey)?.agents
  if (known === undefined) return
  const isKnown = (id: string) => known.some((agent) => agent.id === id)
  if (removed.some(isKnown) || [...changed.keys()].some((id) => !isKnown(id)))
    void client.invalidateQueries({ queryKey: agentsQuery.queryKey })
  client.setQueryData(agentsQuery.queryKey, (old) =>
    old === undefined
      ? old
      : {
          ...old,
          agents: old.agents.map((agent) => ({ ...agent, status: changed.get(agent.id)?.status ?? agent.status }))
        }
  )
}

const follow = async (client: QueryClient, signal: AbortSignal) => {
  for (let attempt = 0; !signal.aborted; attempt += 1) {
    let isFirst = true
    try {
      const response = await send("GET", overviewsPath, { headers: { accept: "text/event-stream" }, signal })
      await readEvents(response, ({ data }) => {
        const change: unknown = JSON.parse(data)
        if (!isChange(change)) return
        applyChange(client, change, isFirst)
        isFirst = false
        attempt = 0
        watching.isLive = true
      })
    } catch (cause) {
      if (cause instanceof RequestFailed && !cause.isTemporary) return
    } finally {
      watching.isLive = false
    }
    if (signal.aborted) return
    // Polling takes over, and shows the outage.
    void client.invalidateQueries({ queryKey: agentsQuery.queryKey })
    await waitToRetry(attempt)
  }
}

/** Follows the user's agents while the page is visible: a browser limits connections across its tabs. */
export const useFollowedAgents = () => {
  const client = useQueryClient()
  useEffect(() => {
    let running: AbortController | undefined
    const update = () => {
      if (document.hidden) {
        running?.abort()
        running = undefined
      } else if (running === undefined) {
        running = new AbortController()
        void follow(client, running.signal)
      }
    }
    update()
    document.addEventListener("visibilitychange", update)
    return () => {
      document.removeEventListener("visibilitychange", update)
      running?.abort()
    }
  }, [client])
}

/** Returns the overview of an agent; undefined until it is loaded. */
export const useOverview = (agentId: string): AgentOverviewJson | undefined =>
  useQuery({ ...overviewsQuery, select: (all) => all.find((overview) => overview.agentId === agentId) }).data

/** Returns a function that names the model that answers: that of the newest reply, else the selected one. */
export const useModelNames = () => {
  const { data: overviews } = useQuery(overviewsQuery)
  const isSandbox = useRepliesFromSandbox()
  return ({ id, model }: Pick<AgentItemJson, "id" | "model">): string => {
    const answered = overviews?.find(({ agentId }) => agentId === id)?.model ?? null
    if (answered !== null) return answered
    const selected = model === customModel ? texts.agents.unnamedModel : model
    return isSandbox ? texts.agents.answeredBySandbox(selected) : selected
  }
}
