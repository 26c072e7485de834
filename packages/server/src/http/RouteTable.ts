import { GroupErrorMembers } from "@berth/api/http/ErrorBody"
import { HttpApi, type HttpApiGroup } from "@effect/platform"
import { Context, Option } from "effect"

/** What is known of a route before any handler runs. */
export interface KnownRoute {
  readonly method: string
  /** As declared, with `:name` parameters. */
  readonly path: string
  /** Media types that its body may have; empty when it takes none. */
  readonly bodyTypes: ReadonlyArray<string>
  /** Members that every error body at this path has besides the usual ones. */
  readonly errorMembers: Readonly<Record<string, unknown>>
  /** Whether a page that does not say where it is (`Origin: null`) may send something here. */
  readonly opaqueOrigin?: boolean
}

/** Every endpoint of a contract. */
export const routesOf = <Id extends string, Groups extends HttpApiGroup.HttpApiGroup.Any, E, R>(
  api: HttpApi.HttpApi<Id, Groups, E, R>
): ReadonlyArray<KnownRoute> => {
  const routes: Array<KnownRoute> = []
  HttpApi.reflect(api, {
    onGroup: () => undefined,
    onEndpoint: ({ endpoint, mergedAnnotations, payloads }) => {
      routes.push({
        method: endpoint.method,
        path: endpoint.path,
        bodyTypes: Option.isSome(endpoint.payloadSchema) ? [...payloads.keys()] : [],
        errorMembers: Context.get(mergedAnnotations, GroupErrorMembers)
      })
    }
  })
  return routes
}

export const plainRoute = (method: string, path: string): KnownRoute => ({
  method,
  path,
  bodyTypes: [],
  errorMembers: {}
})

const segmentsOf = (path: string) => path.split("/").filter((segment) => segment !== "")

/** A route's path taken apart once; every request asks for it. */
const patterns = new Map<string, ReadonlyArray<string>>()
const patternOf = ({ path }: KnownRoute): ReadonlyArray<string> => {
  const known = patterns.get(path)
  if (known !== undefined) return known
  const pattern = segmentsOf(path)
  patterns.set(path, pattern)
  return pattern
}

const matches = (pattern: ReadonlyArray<string>, given: ReadonlyArray<string>): boolean =>
  pattern.length === given.length &&
  pattern.every((segment, index) => segment.startsWith(":") || segment === given[index])

// A literal segment is a better match than a parameter.
const literals = (route: KnownRoute) => patternOf(route).filter((segment) => !segment.startsWith(":")).length

/** The routes that a path names, whatever the method, best match first. */
export const routesAt = (table: ReadonlyArray<KnownRoute>, path: string): ReadonlyArray<KnownRoute> =>
  table.filter(namedBy(segmentsOf(path))).toSorted((a, b) => literals(b) - literals(a))

const namedBy = (given: ReadonlyArray<string>) => (route: KnownRoute) => matches(patternOf(route), given)

/** The route that answers a request; GET answers HEAD. */
export const routeFor = (table: ReadonlyArray<KnownRoute>, method: string, path: string): Option.Option<KnownRoute> =>
  Option.fromNullable(
    routesAt(table, path).find((route) => route.method === method || (method === "HEAD" && route.method === "GET"))
  )

/** For the `Allow` header. */
export const methodsAt = (table: ReadonlyArray<KnownRoute>, path: string): ReadonlyArray<string> => [
  ...new Set(routesAt(table, path).flatMap(({ method }) => (method === "GET" ? ["GET", "HEAD"] : [method])))
]

/** What errors at a path have besides the usual members, whatever the method. */
export const errorMembersAt = (table: ReadonlyArray<KnownRoute>, path: string): KnownRoute["errorMembers"] =>
  routesAt(table, path)[0]?.errorMembers ?? {}
