import type { ErrorRow } from "../ErrorRow.ts"

const nobody = (route: ErrorRow["route"], code: string): ErrorRow => ({
  when: "nobody is signed in",
  route,
  call: () => (route.startsWith("POST") ? { json: { action: "get-usage" } } : {}),
  status: 401,
  code
})

const withCookieAlone = (route: ErrorRow["route"]): ErrorRow => ({
  ...nobody(route, "access_token_required"),
  when: "there is a session and no access token",
  call: ({ owner }) => ({ as: owner, ...(route.startsWith("POST") ? { json: { action: "get-usage" } } : {}) })
})

const routes = [
  "GET /api/billing",
  "POST /api/billing",
  "GET /api/billing/history",
  "GET /api/billing/usage",
  "GET /api/billing/budgets",
  "PUT /api/billing/budgets"
] as const

export const billingRows: ReadonlyArray<ErrorRow> = [
  ...routes.map((route) => nobody(route, "access_token_required")),
  ...routes.map(withCookieAlone),
  nobody("POST /api/cardProcessor/storage-upgrade", "unauthorized"),
  {
    when: "no card processor is set up",
    route: "POST /api/cardProcessor/storage-upgrade",
    call: ({ owner }) => ({ as: owner }),
    status: 500,
    code: "storage_checkout_failed"
  },
  nobody("POST /api/development/plan", "unauthorized"),
  {
    when: "the plan is not sold",
    route: "POST /api/development/plan",
    call: ({ newcomer }) => ({ as: newcomer, json: { plan: "enterprise" } }),
    status: 400,
    code: "invalid_request",
    fields: ["plan"]
  }
]
