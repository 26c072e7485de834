import type { ErrorRow } from "../ErrorRow.ts"

const routes = [
  "GET /api/ops/users",
  "GET /api/ops/users/:id",
  "PUT /api/ops/users/:id/plan",
  "POST /api/ops/users/:id/credits",
  "POST /api/ops/users/:id/confirm-email",
  "POST /api/ops/users/:id/suspend",
  "POST /api/ops/users/:id/unsuspend",
  "GET /api/ops/instances",
  "POST /api/ops/instances/:userId/start",
  "POST /api/ops/instances/:userId/stop",
  "POST /api/ops/instances/:userId/restart",
  "POST /api/ops/instances/:userId/repair",
  "GET /api/ops/queues",
  "POST /api/ops/queues/:queue/pause",
  "POST /api/ops/queues/:queue/resume",
  "GET /api/ops/queues/dead",
  "POST /api/ops/queues/dead/:id/replay",
  "POST /api/ops/queues/dead/:id/discard",
  "GET /api/ops/providers",
  "GET /api/ops/audit"
] as const

export const administrationRows: ReadonlyArray<ErrorRow> = routes.flatMap((route): ReadonlyArray<ErrorRow> => [
  { when: "nobody is signed in", route, status: 401, code: "unauthorized" },
  {
    when: "the caller is not an administrator",
    route,
    call: ({ owner }) => ({
      as: owner,
      path: (route.split(" ")[1] ?? "").replace(/:(id|userId|queue)/, owner.user.id)
    }),
    status: 403,
    code: "administrator_required"
  }
])
