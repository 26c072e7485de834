// The lower bound for reads: node:http, the same statements, driver and pool size, and JSON. It has no validation, limits,
// logs, metrics or request ids.
import { createHash } from "node:crypto"
import { Pool } from "pg"
import { serveUntilParentExits } from "./BenchServer.ts"

const pool = new Pool({ connectionString: process.env["DATABASE_URL"], max: 20 })

const sessionQuery = `
  select users.*, sessions.id as session_id, sessions.created_at as started_at, sessions.expires_at
  from sessions join users on users.id = sessions.user_id
  where sessions.token_hash = $1 and sessions.expires_at > $2`
const agentsQuery = "select * from agents where owner_id = $1 order by created_at desc, id desc"

interface UserRow {
  readonly id: string
  readonly email: string
  readonly name: string
  readonly plan: string
  readonly credit_units: string
  readonly two_factor_enabled: boolean
}
interface AgentRow {
  readonly id: string
  readonly name: string
  readonly model: string
  readonly status: string
  readonly created_at: Date
  readonly updated_at: Date
}

const signedIn = async (cookie: string) => {
  const token = /(?:^|; )berth_session[^=]*=([^;]+)/.exec(cookie)?.[1] ?? ""
  const hash = createHash("sha256").update(token).digest("hex")
  const { rows } = await pool.query<UserRow>(sessionQuery, [hash, new Date()])
  return rows[0]
}

const settingsOf = ({ credit_units, email, id, name, plan, two_factor_enabled }: UserRow) => ({
  id,
  email,
  name,
  plan,
  credits: Number(credit_units) / 100,
  twoFactorEnabled: two_factor_enabled
})

const agentsOf = async (user: UserRow) => {
  const { rows } = await pool.query<AgentRow>(agentsQuery, [user.id])
  const agents = rows.map(({ created_at, id, model, name, status, updated_at }) => ({
    id,
    name,
    model,
    status,
    createdAt: created_at,
    updatedAt: updated_at
  }))
  return { agents, count: agents.length, status: "ok" }
}

const answer = async (path: string, cookie: string) => {
  const user = await signedIn(cookie)
  if (user === undefined) return { status: 401, body: { error: "Unauthorized" } }
  return { status: 200, body: path === "/api/agents" ? await agentsOf(user) : settingsOf(user) }
}

serveUntilParentExits((request, response) => {
  const end = (status: number, body: unknown) =>
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))
  answer(request.url ?? "", request.headers.cookie ?? "").then(
    ({ body, status }) => end(status, body),
    (cause: unknown) => end(500, { error: String(cause) })
  )
})
