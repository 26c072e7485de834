import { Navigate, useSearch } from "@tanstack/react-router"
import { AgentsPage } from "../agents/AgentsPage.tsx"

/** The start page; `agent` in the address selects a chat. */
export const HomePage = () => {
  const { agent } = useSearch({ strict: false })
  return agent === undefined ? (
    <AgentsPage />
  ) : (
    <Navigate to="/dashboard/agents/$agentId/$tab" params={{ agentId: agent, tab: "chat" }} replace />
  )
}
