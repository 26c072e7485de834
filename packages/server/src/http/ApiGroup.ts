import type { RequiredScope } from "@berth/api/sessions/RequiredScope"
import type { Caller } from "@berth/domain/sessions/Caller"
import { type HttpApi, HttpApiBuilder, type HttpApiGroup, type HttpApiMiddleware } from "@effect/platform"
import { Context, Effect, Layer, type Scope } from "effect"
import type { InstanceHost } from "./InstanceHost.ts"
import { listEndpoints } from "./RouteTable.ts"

/** Services that every request has, beside those of its endpoint's middlewares. */
type RequestServices = Caller | RequiredScope | InstanceHost | Scope.Scope

/** Handlers may use the services of a request, and a contract's middlewares. */
type HandlerServices = RequestServices | HttpApiMiddleware.HttpApiMiddleware.AnyId

const pickMiddlewares = <Id extends string, Groups extends HttpApiGroup.HttpApiGroup.Any, E, R, S>(
  api: HttpApi.HttpApi<Id, Groups, E, R>,
  name: string,
  services: Context.Context<S>
) => {
  const picked = new Map<string, unknown>()
  for (const { group, middlewares } of listEndpoints(api))
    if (group === name) for (const key of middlewares) picked.set(key, services.unsafeMap.get(key))
  return picked
}

/**
 * Implements a group of a contract. Its handlers take their services when the layer is built, and run with those of the
 * request only: adding a service copies the context, which would contain all services of the program.
 */
export const group = <
  ApiId extends string,
  Groups extends HttpApiGroup.HttpApiGroup.Any,
  ApiError,
  ApiR,
  const Name extends HttpApiGroup.HttpApiGroup.Name<Groups>,
  Failure,
  Provides,
  Needed extends HandlerServices,
  E,
  R
>(
  api: HttpApi.HttpApi<ApiId, Groups, ApiError, ApiR>,
  name: Name,
  build: (
    handlers: HttpApiBuilder.Handlers.FromGroup<ApiError, ApiR, HttpApiGroup.HttpApiGroup.WithName<Groups, Name>>
  ) => Effect.Effect<HttpApiBuilder.Handlers<Failure, Provides, Needed>, E, R>
) =>
  Layer.scopedContext(
    Effect.gen(function* () {
      const services = yield* Effect.context<
        R | Exclude<Needed, RequestServices> | HttpApiGroup.HttpApiGroup.MiddlewareWithName<Groups, Name>
      >()
      const scope = yield* Effect.scope
      const memoMap = yield* Layer.CurrentMemoMap
      const layer = HttpApiBuilder.group(api, name, (handlers) => Effect.provide(build(handlers), services))
      const inherited = Context.unsafeMake<Layer.Layer.Context<typeof layer>>(pickMiddlewares(api, name, services))
      return yield* Effect.mapInputContext(
        Layer.buildWithMemoMap(layer, memoMap, scope),
        (_: Context.Context<never>) => inherited
      )
    })
  )
