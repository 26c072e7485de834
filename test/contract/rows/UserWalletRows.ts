import type { ErrorRow } from "../ErrorRow.ts"

const act = (when: string, json: unknown, status: number, code: string, fields?: ReadonlyArray<string>): ErrorRow => ({
  when,
  listener: "web",
  route: "POST /api/wallet",
  call: ({ newcomer }) => ({ as: newcomer, json }),
  status,
  code,
  ...(fields === undefined ? {} : { fields })
})

const create = (
  when: string,
  json: unknown,
  code: string,
  more: Partial<Pick<ErrorRow, "status" | "fields" | "members">> = {}
): ErrorRow => ({
  when,
  listener: "web",
  route: "POST /api/wallet/create",
  call: () => ({ json }),
  status: 400,
  code,
  ...more
})

const ofAgent = (
  when: string,
  route: "PUT /api/agents/:id/wallet-limits" | "POST /api/agents/:id/wallet-payments",
  json: unknown,
  status: number,
  code: string,
  fields?: ReadonlyArray<string>
): ErrorRow => ({
  when,
  listener: "web",
  route,
  call: ({ owner }) => ({ as: owner, path: route.replace(/^\w+ /, "").replace(":id", owner.agent.id), json }),
  status,
  code,
  ...(fields === undefined ? {} : { fields })
})

const agentRows: ReadonlyArray<ErrorRow> = [
  ofAgent(
    "a limit is missing or no decimal",
    "PUT /api/agents/:id/wallet-limits",
    { perCall: "-1", perDay: "1" },
    400,
    "invalid_request",
    ["perCall", "perAgent", "confirmAbove"]
  ),
  ofAgent(
    "the payment is unknown",
    "POST /api/agents/:id/wallet-payments",
    { paymentId: "pay_0", action: "approve" },
    404,
    "wallet_payment_not_found"
  ),
  ofAgent(
    "the action is unknown",
    "POST /api/agents/:id/wallet-payments",
    { paymentId: "pay_0", action: "pay" },
    400,
    "invalid_request",
    ["action"]
  )
]

export const userWalletRows: ReadonlyArray<ErrorRow> = [
  {
    when: "there is no session and no developer platform",
    listener: "web",
    route: "GET /api/wallet",
    status: 401,
    code: "unauthorized"
  },
  {
    when: "there is no session",
    listener: "web",
    route: "POST /api/wallet",
    call: () => ({ json: { action: "create" } }),
    status: 401,
    code: "unauthorized"
  },
  act("the action is missing", {}, 400, "invalid_request", ["action"]),
  act("the action is unknown", { action: "drain" }, 400, "invalid_request", ["action"]),
  act("the seed is exported", { action: "export_seed" }, 403, "seed_export_disabled"),
  act("the seed of no wallet is read", { action: "get_seed" }, 404, "user_wallet_not_found"),
  {
    when: "the bearer token is invalid",
    listener: "web",
    route: "GET /api/wallet/address",
    call: () => ({ headers: { authorization: "Bearer nothing" } }),
    status: 401,
    code: "unauthorized"
  },
  create("the email is missing", {}, "invalid_request", { fields: ["email"] }),
  create("the email is a number", { email: 7 }, "invalid_request", { fields: ["email"] }),
  create("the email is none", { email: "nobody" }, "email_invalid"),
  create("no developer platform is configured", { email: "a@example.com" }, "developer_wallets_not_configured", {
    status: 500,
    members: {
      setup: "Set `CDP_PROJECT_ID`, `CDP_API_KEY_ID`, `CDP_API_KEY_SECRET` and `CDP_WALLET_SECRET`."
    }
  }),
  {
    when: "there is no session",
    listener: "web",
    route: "POST /api/wallet/cdp",
    call: () => ({ json: {} }),
    status: 401,
    code: "unauthorized"
  },
  {
    when: "the private key is none",
    listener: "web",
    route: "POST /api/wallet/cdp",
    call: ({ newcomer }) => ({ as: newcomer, json: { privateKey: "0x12" } }),
    status: 400,
    code: "private_key_invalid"
  },
  ...agentRows
]
