import { claimCodeHeader } from "@berth/api/provisioning/ProvisioningFields"
import type { IdempotencyErrors } from "@berth/api/limits/IdempotencyErrors"
import { RequestClaim } from "@berth/domain/limits/IdempotentExecution"
import { ChannelProvisioning, type ProvisioningFailure } from "@berth/domain/provisioning/ChannelProvisioning"
import { ProvisioningUnavailable } from "@berth/domain/provisioning/ProvisioningErrors"
import type { ProvisioningRequest } from "@berth/domain/provisioning/ProvisioningRequest"
import { Duration, Effect, Layer, Option, Redacted } from "effect"
import { type BackendClientOptions, failTransportWith, makeBackendClient } from "./BackendClient.ts"

const timeout = Duration.seconds(30)
const unavailable = new ProvisioningUnavailable()

const isOfKey = (error: ProvisioningFailure | typeof IdempotencyErrors.Type): error is typeof IdempotencyErrors.Type =>
  ["IdempotencyKeyReused", "IdempotencyKeyInvalid", "FirstRequestUnanswered", "ResponseNotKept"].includes(error._tag)

export const layer = (options: BackendClientOptions): Layer.Layer<ChannelProvisioning> =>
  Layer.effect(
    ChannelProvisioning,
    Effect.map(makeBackendClient(options), ({ api }) =>
      ChannelProvisioning.of({
        provision: Effect.fn("ChannelProvisioning.provision")(function* (request: ProvisioningRequest) {
          // The backend stores the outcome under the same key, since this process may die before it receives the
          // response.
          const claim = yield* RequestClaim
          const [provisioned, { headers }] = yield* api.provisioning
            .provision({
              payload: request,
              headers: Option.match(claim, {
                onNone: () => ({}),
                onSome: ({ key }) => ({ "idempotency-key": key.key })
              }),
              withResponse: true
            })
            .pipe(
              failTransportWith(unavailable),
              // The web API has already checked the key, so here its errors mean that an earlier request is in progress.
              Effect.mapError((error) => (isOfKey(error) ? unavailable : error)),
              Effect.interruptible,
              Effect.timeoutFail({ duration: timeout, onTimeout: () => unavailable })
            )
          return {
            ...provisioned,
            claimCode: Option.map(Option.fromNullable(headers[claimCodeHeader]), (code) => Redacted.make(code))
          }
        })
      })
    )
  )
