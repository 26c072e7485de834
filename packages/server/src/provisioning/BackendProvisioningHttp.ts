import { BackendApi } from "@berth/api/BackendApi"
import { BackendProvisionedAnswer } from "@berth/api/provisioning/BackendProvisioningApi"
import { clientAddressHeader } from "@berth/api/http/ActingUserHeaders"
import { Effect, Schema } from "effect"
import { group } from "../http/ApiGroup.ts"
import { makeProvisioningResponder } from "./ProvisioningResponse.ts"

const encode = Schema.encodeSync(BackendProvisionedAnswer)

export const layer = group(BackendApi, "provisioning", (handlers) =>
  Effect.map(makeProvisioningResponder("backend"), (respond) =>
    handlers.handle("provision", ({ headers, payload, request }) =>
      respond(payload, headers["idempotency-key"], (provisioned) => encode(provisioned), {
        hasNetwork: request.headers[clientAddressHeader] !== undefined
      })
    )
  )
)
