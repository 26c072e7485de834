import { HttpClient, type HttpClientRequest, type HttpClientResponse } from "@effect/platform"
import { Data, Duration, Effect } from "effect"

/** `status` is null if the API was unreachable or its response was invalid. */
export class ApiCallFailed extends Data.TaggedError("ApiCallFailed")<{
  readonly status: number | null
  readonly reason: string
}> {}

const timeout = Duration.seconds(10)

/** Makes a function that calls a vendor's API with a timeout. `readRefusal` describes an error response. */
export const makeApiCall = (
  client: HttpClient.HttpClient,
  readRefusal = ({ status }: HttpClientResponse.HttpClientResponse) => Effect.succeed(`status ${status}`)
) => {
  const http = HttpClient.withTracerPropagation(client, false)
  return <A>(
    request: HttpClientRequest.HttpClientRequest,
    read: (response: HttpClientResponse.HttpClientResponse) => Effect.Effect<A, { readonly _tag: string }>
  ): Effect.Effect<A, ApiCallFailed> =>
    http.execute(request).pipe(
      Effect.mapError(({ reason }) => new ApiCallFailed({ status: null, reason })),
      Effect.filterOrElse(
        ({ status }) => status < 300,
        (response) =>
          Effect.flatMap(readRefusal(response), (reason) => new ApiCallFailed({ status: response.status, reason }))
      ),
      Effect.flatMap((response) =>
        Effect.mapError(read(response), ({ _tag }) => new ApiCallFailed({ status: null, reason: _tag }))
      ),
      Effect.interruptible,
      Effect.timeoutFail({
        duration: timeout,
        onTimeout: () => new ApiCallFailed({ status: null, reason: "no answer in time" })
      })
    )
}
