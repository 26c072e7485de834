import type { AgentManager } from "@berth/domain/instances/AgentManager"
import { BackendUnavailable, InstanceUnavailable, InstanceNotFound } from "@berth/domain/instances/InstanceErrors"
import { type Context, Effect } from "effect"
import { AgentManagerTest } from "@berth/infra/backend/AgentManagerTest"
import type { CallCondition, ErrorRow, ErrorRowFixturesService } from "../ErrorRow.ts"
import { sql } from "../../support/Sql.ts"

type Manager = Omit<Context.Tag.Service<AgentManager>, "chat">

const lifecycle = { success: false, status: "error" }

const pathsOfInstances = [
  "",
  "/token",
  "/stats",
  "/storage",
  "/start",
  "/stop",
  "/restart",
  "/update",
  "/repair",
  "/reset-memory"
] as const
type InstancePath = (typeof pathsOfInstances)[number]
const isRead = (path: InstancePath) => ["", "/token", "/stats", "/storage"].includes(path)
const routeOf = (path: InstancePath): ErrorRow["route"] =>
  `${isRead(path) ? "GET" : "POST"} /api/instance/:userId${path}`

const row = (
  path: InstancePath,
  when: string,
  call: (scene: ErrorRowFixturesService) => Pick<ErrorRowFixturesService["owner"], "user" | "cookie"> | undefined,
  ofWhom: (scene: ErrorRowFixturesService) => string,
  outcome: Pick<ErrorRow, "status" | "code" | "during">
): ErrorRow => ({
  when,
  route: routeOf(path),
  call: (scene) => {
    const as = call(scene)
    return { path: `/api/instance/${ofWhom(scene)}${path}`, ...(as === undefined ? {} : { as }) }
  },
  members: lifecycle,
  ...outcome
})

const ownersId = ({ owner }: ErrorRowFixturesService) => owner.user.id
const byOwner = ({ owner }: ErrorRowFixturesService) => owner

const doing =
  (script: Partial<Manager>): CallCondition =>
  (effect) =>
    Effect.flatMap(AgentManagerTest, ({ withBehavior }) => withBehavior(script)(effect))

const backendGone = new BackendUnavailable({ reason: "it does not respond" })
const instanceDown = new InstanceUnavailable({ reason: "it did not come up" })
const broken = Effect.die(new Error("hunter2 at /internal/instances"))

const managed = ["start", "stop", "restart", "update", "repair"] as const

const failing = (method: (typeof managed)[number]): ReadonlyArray<ErrorRow> => {
  const path = `/${method}` as const
  const during = (outcome: Effect.Effect<never, BackendUnavailable | InstanceNotFound>) =>
    doing({ [method]: () => outcome })
  return [
    row(path, "one has no instance", byOwner, ownersId, {
      status: 404,
      code: "instance_not_found",
      during: during(Effect.fail(new InstanceNotFound()))
    }),
    row(path, "the backend does not answer", byOwner, ownersId, {
      status: 502,
      code: "backend_unavailable",
      during: during(Effect.fail(backendGone))
    }),
    row(path, "something breaks", byOwner, ownersId, { status: 500, code: "internal", during: during(broken) })
  ]
}

/** The owner's gateway token cannot be decrypted. */
const withSpoiltToken: CallCondition = (effect) =>
  Effect.acquireUseRelease(
    Effect.orDie(sql`update instances set gateway_token_sealed = 'v1.other.AAAA.AAAA'`),
    () => effect,
    () => Effect.orDie(sql`update instances set gateway_token_sealed = null`)
  )

export const instanceRows: ReadonlyArray<ErrorRow> = [
  ...pathsOfInstances.flatMap((path) => [
    row(path, "nobody is signed in", () => undefined, ownersId, { status: 401, code: "unauthorized" }),
    row(path, "the instance is another's", ({ stranger }) => stranger, ownersId, {
      status: 403,
      code: "instance_not_owned"
    }),
    row(
      path,
      "there is no such instance",
      ({ stranger }) => stranger,
      () => "usr_0",
      { status: 403, code: "instance_not_owned" }
    )
  ]),
  ...(["", "/token", "/stats", "/storage", "/reset-memory"] as const).map((path) =>
    row(
      path,
      "one has no instance",
      ({ newcomer }) => newcomer,
      ({ newcomer }) => newcomer.user.id,
      { status: 404, code: "instance_not_found" }
    )
  ),
  ...managed.flatMap(failing),
  ...(["start", "restart", "update", "repair"] as const).map((method) =>
    row(`/${method}`, "the instance does not start", byOwner, ownersId, {
      status: 502,
      code: "instance_unavailable",
      during: doing({ [method]: () => instanceDown })
    })
  ),
  row("/stats", "the backend does not answer", byOwner, ownersId, {
    status: 502,
    code: "backend_unavailable",
    during: doing({ stats: () => backendGone })
  }),
  row("/stats", "something breaks", byOwner, ownersId, {
    status: 500,
    code: "internal",
    during: doing({ stats: () => broken })
  }),
  row("/storage", "the backend does not answer", byOwner, ownersId, {
    status: 502,
    code: "backend_unavailable",
    during: doing({ measureStorage: () => backendGone })
  }),
  row("/storage", "the instance does not answer", byOwner, ownersId, {
    status: 502,
    code: "instance_unavailable",
    during: doing({ measureStorage: () => instanceDown })
  }),
  row("/storage", "something breaks", byOwner, ownersId, {
    status: 500,
    code: "internal",
    during: doing({ measureStorage: () => broken })
  }),
  row("/token", "the token cannot be opened", byOwner, ownersId, {
    status: 500,
    code: "internal",
    during: withSpoiltToken
  })
]
