import { CrossOrigin, type CrossOriginAccess } from "@berth/api/http/CrossOrigin"
import { GroupErrorMembers } from "@berth/api/http/ErrorBody"
import { RequiredScope } from "@berth/api/sessions/RequiredScope"
import type { ApiKeyScope } from "@berth/domain/sessions/ApiKeyScope"
import { oncePerObject } from "@berth/domain/shared/ObjectMemo"
import { HttpApi, type HttpApiGroup } from "@effect/platform"
import { Context, Option } from "effect"

/** Properties of a route that apply before its handler. */
export interface KnownRoute {
  readonly method: string
  /** As declared, with `:name` parameters. */
  readonly path: string
  /** Accepted media types of the body; empty if the route takes no body. */
  readonly bodyTypes: ReadonlyArray<string>
  /** Additional members of error bodies at this path. */
  readonly errorMembers: Readonly<Record<string, unknown>>
  /** Headers of all responses at this path. */
  readonly headers?: Readonly<Record<string, string>>
  /** Whether requests with `Origin: null` may change state. */
  readonly opaqueOrigin?: boolean
  /** Scope that the route requires of an API key; without one, keys are rejected. */
  readonly scope?: ApiKeyScope | null
  /** Whether every response is 410. */
  readonly isGone?: boolean
  /** Access for pages of other origins; default: none. */
  readonly crossOrigin?: CrossOriginAccess | null
}

/** An endpoint of a contract, with the keys of its middlewares. */
interface DeclaredEndpoint {
  readonly group: string
  readonly middlewares: ReadonlyArray<string>
  readonly route: KnownRoute
}

/**
 * Lists the endpoints of a contract; memoized, since it takes a fiftieth of the processor time of loading the program.
 */
export const listEndpoints = oncePerObject(
  <Id extends string, Groups extends HttpApiGroup.HttpApiGroup.Any, E, R>(
    api: HttpApi.HttpApi<Id, Groups, E, R>
  ): ReadonlyArray<DeclaredEndpoint> => {
    const endpoints: Array<DeclaredEndpoint> = []
    HttpApi.reflect(api, {
      onGroup: () => undefined,
      onEndpoint: ({ endpoint, group, mergedAnnotations, middleware, payloads, successes }) => {
        const route = {
          method: endpoint.method,
          path: endpoint.path,
          bodyTypes: Option.isSome(endpoint.payloadSchema) ? [...payloads.keys()] : [],
          errorMembers: Context.get(mergedAnnotations, GroupErrorMembers),
          isGone: [...successes.keys()].every((status) => status === 410),
          scope: Context.get(mergedAnnotations, RequiredScope),
          crossOrigin: Context.get(mergedAnnotations, CrossOrigin)
        }
        endpoints.push({ group: group.identifier, middlewares: Array.from(middleware, ({ key }) => key), route })
      }
    })
    return endpoints
  }
)

export const listRoutes = oncePerObject(
  <Id extends string, Groups extends HttpApiGroup.HttpApiGroup.Any, E, R>(
    api: HttpApi.HttpApi<Id, Groups, E, R>
  ): ReadonlyArray<KnownRoute> => listEndpoints(api).map(({ route }) => route)
)

export const makePlainRoute = (method: string, path: string): KnownRoute => ({
  method,
  path,
  bodyTypes: [],
  errorMembers: {}
})

export const healthPaths = [makePlainRoute("GET", "/health/live"), makePlainRoute("GET", "/health/ready")]

const segmentsOf = (path: string) => path.split("/").filter((segment) => segment !== "")

interface Candidate {
  readonly route: KnownRoute
  readonly pattern: ReadonlyArray<string>
}

const literals = ({ pattern }: Candidate) => pattern.filter((segment) => !segment.startsWith(":")).length

const isLiteral = ({ path }: KnownRoute) => !path.includes("/:")

/** Routes by segment count, best match first. */
const indexOf = oncePerObject((table: ReadonlyArray<KnownRoute>): ReadonlyMap<number, ReadonlyArray<Candidate>> => {
  const candidates = table.map((route) => ({ route, pattern: segmentsOf(route.path) }))
  return new Map(
    [...new Set(candidates.map(({ pattern }) => pattern.length))].map((length) => [
      length,
      candidates.filter(({ pattern }) => pattern.length === length).toSorted((a, b) => literals(b) - literals(a))
    ])
  )
})

const matches = (pattern: ReadonlyArray<string>, segments: ReadonlyArray<string>): boolean =>
  pattern.every((segment, index) => segment.startsWith(":") || segment === segments[index])

const hasSameLiterals = (one: ReadonlyArray<string>, other: ReadonlyArray<string>): boolean =>
  one.every((segment, index) => segment.startsWith(":") === (other[index] ?? "").startsWith(":"))

/**
 * Returns the best matching routes of a path for all methods. A parameter never matches a literal sibling, so that a
 * wrong method of that path is detected.
 */
const findRoutes = (table: ReadonlyArray<KnownRoute>, path: string): ReadonlyArray<KnownRoute> => {
  const segments = segmentsOf(path)
  const candidates = (indexOf(table).get(segments.length) ?? []).filter(({ pattern }) => matches(pattern, segments))
  const [best] = candidates
  return best === undefined
    ? []
    : candidates.flatMap(({ pattern, route }) => (hasSameLiterals(pattern, best.pattern) ? [route] : []))
}

/**
 * Routes without parameters by method and path, for most requests. The first of two equal routes wins, as in the
 * search.
 */
const literalIndexOf = oncePerObject(
  (table: ReadonlyArray<KnownRoute>) =>
    new Map(
      table
        .filter(isLiteral)
        .toReversed()
        .map((route) => [`${route.method} ${route.path}`, Option.some(route)])
    )
)

/** Returns the route of a request; GET routes also handle HEAD. */
export const findRoute = (table: ReadonlyArray<KnownRoute>, method: string, path: string): Option.Option<KnownRoute> =>
  literalIndexOf(table).get(`${method} ${path}`) ??
  Option.fromNullable(
    findRoutes(table, path).find((route) => route.method === method || (method === "HEAD" && route.method === "GET"))
  )

/** Returns the methods for the `Allow` header, excluding removed ones unless all are removed. */
export const listMethods = (table: ReadonlyArray<KnownRoute>, path: string): ReadonlyArray<string> => {
  const routes = findRoutes(table, path)
  const present = routes.filter(({ isGone }) => isGone !== true)
  const methods = (present.length === 0 ? routes : present).map(({ method }) => method)
  return [...new Set(methods.flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method])))]
}

const searchErrorMembers = (table: ReadonlyArray<KnownRoute>, path: string): KnownRoute["errorMembers"] =>
  findRoutes(table, path)[0]?.errorMembers ?? {}

/** Members by path without parameters. */
const literalErrorMembersOf = oncePerObject(
  (table: ReadonlyArray<KnownRoute>) =>
    new Map(table.filter(isLiteral).map(({ path }) => [path, searchErrorMembers(table, path)]))
)

/** Returns the additional members of error bodies at a path. */
export const findErrorMembers = (table: ReadonlyArray<KnownRoute>, path: string): KnownRoute["errorMembers"] =>
  literalErrorMembersOf(table).get(path) ?? searchErrorMembers(table, path)
