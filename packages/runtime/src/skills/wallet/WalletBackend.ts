import {
  RuntimeErrorBody,
  RuntimeWalletAnswer,
  RuntimeWalletCall,
  runtimeWalletPath
} from "@berth/api/runtime/RuntimeContract"
import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import * as HttpClientResponse from "@effect/platform/HttpClientResponse"
import { Context, Data, Effect, Layer, type Redacted } from "effect"
import type { TurnAgent } from "../Toolbox.ts"

/** The reason is a sentence. */
export class WalletFailed extends Data.TaggedError("WalletFailed")<{ readonly reason: string }> {}

/** The owner's wallet. The backend decides by the turn and the owner's limits; no key is in the instance. */
export class WalletBackend extends Context.Tag("@berth/runtime/WalletBackend")<
  WalletBackend,
  {
    readonly call: (
      turn: Pick<TurnAgent, "id" | "messageId">,
      call: (typeof RuntimeWalletCall.Type)["call"]
    ) => Effect.Effect<string, WalletFailed>
  }
>() {}

const unreachable = () => new WalletFailed({ reason: "The wallet could not be reached." })
const notUnderstood = () => new WalletFailed({ reason: "The wallet answered in a way that is not understood." })

/** The backend's wallet route, by runtime token. Calls are not repeated: the backend tells payments apart by the turn. */
export const layer = (options: { readonly backendUrl: string; readonly token: Redacted.Redacted }) =>
  Layer.effect(
    WalletBackend,
    Effect.map(HttpClient.HttpClient, (client) =>
      WalletBackend.of({
        call: Effect.fn("WalletBackend.call")(({ id: agentId, messageId }, call) =>
          HttpClientRequest.schemaBodyJson(RuntimeWalletCall)(
            HttpClientRequest.post(new URL(runtimeWalletPath, options.backendUrl)),
            { agentId, messageId, call }
          ).pipe(
            Effect.mapError(() => new WalletFailed({ reason: "The arguments are too long." })),
            Effect.flatMap((request) =>
              Effect.mapError(client.execute(HttpClientRequest.bearerToken(request, options.token)), unreachable)
            ),
            Effect.flatMap((response) =>
              response.status === 200
                ? HttpClientResponse.schemaBodyJson(RuntimeWalletAnswer)(response).pipe(
                    Effect.mapBoth({ onSuccess: ({ text }) => text, onFailure: notUnderstood })
                  )
                : Effect.matchEffect(HttpClientResponse.schemaBodyJson(RuntimeErrorBody)(response), {
                    onSuccess: ({ message }) => new WalletFailed({ reason: message }),
                    onFailure: notUnderstood
                  })
            )
          )
        )
      })
    )
  )
