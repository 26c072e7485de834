import type { ErrorRow } from "../ErrorRow.ts"

const row = (
  route: ErrorRow["route"],
  when: string,
  code: string,
  more: Partial<Pick<ErrorRow, "call" | "status" | "fields" | "members">> = {}
): ErrorRow => ({ when, route, status: 400, code, ...more })

const anonymous = (route: ErrorRow["route"], when: string, json?: unknown): ErrorRow =>
  row(route, when, "unauthorized", { status: 401, ...(json === undefined ? {} : { call: () => ({ json }) }) })

const act = (when: string, json: unknown, code: string, more: Partial<Pick<ErrorRow, "status" | "fields">> = {}) =>
  row("POST /api/wallet", when, code, { call: ({ newcomer }) => ({ as: newcomer, json }), ...more })

const create = (when: string, json: unknown, code: string, more: Partial<ErrorRow> = {}) =>
  row("POST /api/wallet/create", when, code, { call: () => ({ json }), ...more })

const ofAgent = (
  route: ErrorRow["route"],
  when: string,
  json: unknown,
  code: string,
  more: Partial<Pick<ErrorRow, "status" | "fields">>
) =>
  row(route, when, code, {
    call: ({ owner }) => ({ as: owner, path: route.replace(/^\w+ /, "").replace(":id", owner.agent.id), json }),
    ...more
  })

const limits = "PUT /api/agents/:id/wallet-limits"
const payments = "POST /api/agents/:id/wallet-payments"

export const userWalletRows: ReadonlyArray<ErrorRow> = [
  anonymous("GET /api/wallet", "there is no session and no developer platform"),
  anonymous("POST /api/wallet", "there is no session", { action: "create" }),
  anonymous("POST /api/wallet/cdp", "there is no session", {}),
  act("the action is missing", {}, "invalid_request", { fields: ["action"] }),
  act("the action is unknown", { action: "drain" }, "invalid_request", { fields: ["action"] }),
  act("the seed is exported", { action: "export_seed" }, "seed_export_disabled", { status: 403 }),
  act("the seed of no wallet is read", { action: "get_seed" }, "user_wallet_not_found", { status: 404 }),
  row("GET /api/wallet/address", "the bearer token is invalid", "unauthorized", {
    call: () => ({ headers: { authorization: "Bearer nothing" } }),
    status: 401
  }),
  create("the email is missing", {}, "invalid_request", { fields: ["email"] }),
  create("the email is a number", { email: 7 }, "invalid_request", { fields: ["email"] }),
  create("the email is none", { email: "nobody" }, "email_invalid"),
  create("no developer platform is configured", { email: "a@example.com" }, "developer_wallets_not_configured", {
    status: 500,
    members: { setup: "Set `CDP_PROJECT_ID`, `CDP_API_KEY_ID`, `CDP_API_KEY_SECRET` and `CDP_WALLET_SECRET`." }
  }),
  row("POST /api/wallet/cdp", "the private key is none", "private_key_invalid", {
    call: ({ newcomer }) => ({ as: newcomer, json: { privateKey: "0x12" } })
  }),
  ofAgent(limits, "a limit is missing or no decimal", { perCall: "-1", perDay: "1" }, "invalid_request", {
    fields: ["perCall", "perAgent", "confirmAbove"]
  }),
  ofAgent(payments, "the payment is unknown", { paymentId: "pay_0", action: "refuse" }, "wallet_payment_not_found", {
    status: 404
  }),
  ofAgent(payments, "the action is unknown", { paymentId: "pay_0", action: "pay" }, "invalid_request", {
    fields: ["action"]
  })
]
