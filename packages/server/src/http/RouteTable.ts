import { CrossOrigin, type CrossOriginAccess } from "@berth/api/http/CrossOrigin"
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
  /** What pages of other origins may do with it; nothing when absent or null. */
  readonly crossOrigin?: CrossOriginAccess | null
}

/** Every endpoint of a contract. */
export const listRoutes = <Id extends string, Groups extends HttpApiGroup.HttpApiGroup.Any, E, R>(
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
        errorMembers: Context.get(mergedAnnotations, GroupErrorMembers),
        crossOrigin: Context.get(mergedAnnotations, CrossOrigin)
      })
    }
  })
  return routes
}

export const makePlainRoute = (method: string, path: string): KnownRoute => ({
  method,
  path,
  bodyTypes: [],
  errorMembers: {}
})

const segmentsOf = (path: string) => path.split("/").filter((segment) => segment !== "")

interface Candidate {
  readonly route: KnownRoute
  readonly pattern: ReadonlyArray<string>
}

// A literal segment is a better match than a parameter.
const literals = ({ pattern }: Candidate) => pattern.filter((segment) => !segment.startsWith(":")).length

/** Routes by how many segments they have, best match first: every request asks, so each table is taken apart once. */
const indexes = new WeakMap<ReadonlyArray<KnownRoute>, ReadonlyMap<number, ReadonlyArray<Candidate>>>()

const indexOf = (table: ReadonlyArray<KnownRoute>): ReadonlyMap<number, ReadonlyArray<Candidate>> => {
  const known = indexes.get(table)
  if (known !== undefined) return known
  const candidates = table.map((route) => ({ route, pattern: segmentsOf(route.path) }))
  const index = new Map(
    [...new Set(candidates.map(({ pattern }) => pattern.length))].map((length) => [
      length,
      candidates
        .filter(({ pattern }) => pattern.length === length)
        .toSorted((one, other) => literals(other) - literals(one))
    ])
  )
  indexes.set(table, index)
  return index
}

const matches = (pattern: ReadonlyArray<string>, given: ReadonlyArray<string>): boolean =>
  pattern.every((segment, index) => segment.startsWith(":") || segment === given[index])

/** The routes that a path names, whatever the method, best match first. */
export const findRoutes = (table: ReadonlyArray<KnownRoute>, path: string): ReadonlyArray<KnownRoute> => {
  const given = segmentsOf(path)
  return (indexOf(table).get(given.length) ?? []).flatMap(({ pattern, route }) =>
    matches(pattern, given) ? [route] : []
  )
}

/** The route that answers a request; GET answers HEAD. */
export const findRoute = (table: ReadonlyArray<KnownRoute>, method: string, path: string): Option.Option<KnownRoute> =>
  Option.fromNullable(
    findRoutes(table, path).find((route) => route.method === method || (method === "HEAD" && route.method === "GET"))
  )

/** For the `Allow` header. */
export const listMethods = (table: ReadonlyArray<KnownRoute>, path: string): ReadonlyArray<string> => [
  ...new Set(findRoutes(table, path).flatMap(({ method }) => (method === "GET" ? ["GET", "HEAD"] : [method])))
]

/** What errors at a path have besides the usual members, whatever the method. */
export const findErrorMembers = (table: ReadonlyArray<KnownRoute>, path: string): KnownRoute["errorMembers"] =>
  findRoutes(table, path)[0]?.errorMembers ?? {}
