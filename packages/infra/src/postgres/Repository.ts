import { withExportedSpan } from "@berth/domain/shared/SpanExport"
import { SqlClient } from "@effect/sql/SqlClient"
import { type Context, Effect, Layer, Predicate } from "effect"

const trace = (member: unknown, span: string): unknown => {
  const traced = withExportedSpan(span)
  if (Effect.isEffect(member)) return traced(member)
  if (!Predicate.isFunction(member)) return member
  return (...args: ReadonlyArray<unknown>): unknown => {
    const result: unknown = Reflect.apply(member, undefined, args)
    return Effect.isEffect(result) ? traced(result) : result
  }
}

interface TracingOptions<Service> {
  /** Members without a span of this Layer, for example hot paths. */
  readonly untraced?: ReadonlyArray<keyof Service>
}

/** Layer of a repository in which each member has a span `<Repository>.<member>` if spans are exported. */
export const layerEffect = <Self, Service extends object, E, R>(
  tag: Context.Tag<Self, Service>,
  make: Effect.Effect<Service, E, R>,
  { untraced = [] }: TracingOptions<Service> = {}
) =>
  Layer.scoped(
    tag,
    Effect.map(make, (service) => {
      const name = tag.key.slice(tag.key.lastIndexOf("/") + 1)
      const untracedKeys = new Set<PropertyKey>(untraced)
      for (const key of Object.keys(service))
        if (!untracedKeys.has(key)) Reflect.set(service, key, trace(Reflect.get(service, key), `${name}.${key}`))
      return service
    })
  )

/** As `layerEffect`, for a repository that requires only the client. */
export const layer = <Self, Service extends object>(
  tag: Context.Tag<Self, Service>,
  make: (sql: SqlClient) => Service,
  options?: TracingOptions<Service>
) => layerEffect(tag, Effect.map(SqlClient, make), options)
