import { HttpApiBuilder, type HttpApi, type HttpApiGroup, HttpLayerRouter, type HttpRouter } from "@effect/platform"
import { Context, Effect, FiberRef, Layer } from "effect"
import { maxHeaderSize } from "node:http"
import type { DirectRoutes, RequestHandler } from "./DirectRoutes.ts"
import { listRoutes } from "./RouteTable.ts"

type Route = HttpLayerRouter.Route<unknown, unknown>

/** Matches paths like the route table; a parameter is limited only by the length of the request line. */
const makeFinder = () =>
  HttpLayerRouter.FindMyWay.make<Route>({
    ignoreTrailingSlash: true,
    ignoreDuplicateSlashes: false,
    caseSensitive: true,
    maxParamLength: maxHeaderSize
  })

/** Routes of one listener. */
export class RequestRouter extends Context.Tag("@berth/RequestRouter")<
  RequestRouter,
  {
    readonly add: (route: Route) => void
    readonly find: ReturnType<typeof makeFinder>["find"]
  }
>() {}

/**
 * Adds services to the fiber's context, without restoring it, since the fiber ends with its request. Keeps the
 * request's own services.
 */
export const addServices = (services: Context.Context<never>): Effect.Effect<void> =>
  Effect.withFiberRuntime((fiber) =>
    FiberRef.set(FiberRef.currentContext, Context.merge(services, fiber.currentContext))
  )

const make = Effect.sync(() => {
  const finder = makeFinder()
  const add = (route: Route) =>
    route.method === "*" ? finder.all(route.path, route) : finder.on(route.method, route.path, route)
  /** Runs the handlers with the services of the layer that adds them. */
  const addWithServices = (routes: ReadonlyArray<Route>) =>
    Effect.map(Effect.context<never>(), (services) => {
      for (const route of routes) add({ ...route, handler: Effect.zipRight(addServices(services), route.handler) })
    })
  const router = HttpLayerRouter.HttpRouter.of({
    [HttpLayerRouter.TypeId]: HttpLayerRouter.TypeId,
    prefixed: () => router,
    add: (method, path, handler, options) => addWithServices([HttpLayerRouter.route(method, path, handler, options)]),
    addAll: (routes) => addWithServices(routes),
    addGlobalMiddleware: () => Effect.dieMessage("The pipeline is the only middleware"),
    asHttpEffect: () => Effect.dieMessage("The pipeline runs the handlers")
  })
  return Context.make(RequestRouter, { add, find: (method, url) => finder.find(method, url) }).pipe(
    Context.add(HttpLayerRouter.HttpRouter, router)
  )
})

/** A router whose handlers run in the context of the request. */
export const layer = Layer.effectContext(make)

/** A method, since its parameter may then be declared with the services of a request's context. */
interface ErrorEncoder {
  encodeErrors(handler: HttpRouter.Route.Handler<unknown, unknown>): RequestHandler
}

/** Adds the endpoints of a contract; direct routes replace theirs. */
export const addApi = <Id extends string, Groups extends HttpApiGroup.HttpApiGroup.Any, E, R, D>(
  api: HttpApi.HttpApi<Id, Groups, E, R>,
  makeDirectRoutes: Effect.Effect<DirectRoutes, never, D>
) =>
  HttpApiBuilder.Router.unwrap(({ routes }) =>
    Layer.effectDiscard(
      Effect.gen(function* () {
        yield* Effect.context<
          R | HttpApiGroup.HttpApiGroup.ToService<Id, Groups> | HttpApiGroup.HttpApiGroup.ErrorContext<Groups>
        >()
        const { add } = yield* RequestRouter
        const encoder: ErrorEncoder = { encodeErrors: yield* HttpApiBuilder.buildMiddleware(api) }
        const directRoutes = yield* makeDirectRoutes
        const declared = new Set(listRoutes(api).map(({ method, path }) => `${method} ${path}`))
        for (const { handler, method, path, uninterruptible } of routes) {
          if (method === "*" || method === "HEAD" || !declared.has(`${method} ${path}`)) continue
          const contract = encoder.encodeErrors(handler)
          const direct = directRoutes.get(`${method} ${path}`)
          const app = direct === undefined ? contract : direct(contract)
          add(HttpLayerRouter.route(method, path, app, { uninterruptible }))
        }
      })
    )
  )
