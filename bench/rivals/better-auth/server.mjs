// better-auth as documented for Node: its handler on node:http and a node-postgres pool. Every request reads the session from the
// database, since the cookie cache is off by default.
import { betterAuth } from "better-auth"
import { getMigrations } from "better-auth/db/migration"
import { toNodeHandler } from "better-auth/node"
import { randomBytes } from "node:crypto"
import { createServer } from "node:http"
import { Pool } from "pg"

const schema = "better_auth"
const { DATABASE_URL: connectionString, JOINS: joins } = process.env

process.once("disconnect", () => process.exit())

// The pool size of Berth. A separate schema, so that both share one database.
const pool = new Pool({ connectionString, max: 20, options: `-c search_path=${schema}` })
await pool.query(`create schema if not exists ${schema}`)

const server = createServer()
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve))
const { port } = server.address()

const options = {
  database: pool,
  baseURL: `http://127.0.0.1:${port}`,
  secret: randomBytes(32).toString("hex"),
  emailAndPassword: { enabled: true },
  // No rate limits during a measurement.
  rateLimit: { enabled: false },
  telemetry: { enabled: false },
  advanced: { database: { joins: joins === "on" } }
}

const { runMigrations } = await getMigrations(options)
await runMigrations()
server.on("request", toNodeHandler(betterAuth(options)))
process.send(port)
