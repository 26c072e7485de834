import { HttpApiClient, type HttpClient } from "@effect/platform"
import { WebApi } from "./WebApi.ts"

export interface WebClientOptions {
  /** Base URL of the web API, for example http://localhost:3000. */
  readonly baseUrl: string
  /** Applied to every request; `HttpClient.withCookiesRef` keeps a session. */
  readonly transformClient?: (client: HttpClient.HttpClient) => HttpClient.HttpClient
}

/** Typed client of the web API: `client.agents.provision({ payload })`. Failures are the errors of the contract. */
export const makeWebClient = (options: WebClientOptions) => HttpApiClient.make(WebApi, options)
