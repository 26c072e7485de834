import { HttpApiClient, type HttpClient } from "@effect/platform"
import { WebApi } from "./WebApi.ts"

export interface WebClientOptions {
  /** Where the web API is, for example http://localhost:3000. */
  readonly baseUrl: string
  /** What every request should carry; `HttpClient.withCookiesRef` keeps a session. */
  readonly transformClient?: (client: HttpClient.HttpClient) => HttpClient.HttpClient
}

/** The web API as functions: `client.agents.provision({ payload })`. Failures are the same errors that the service knows. */
export const makeWebClient = (options: WebClientOptions) => HttpApiClient.make(WebApi, options)
