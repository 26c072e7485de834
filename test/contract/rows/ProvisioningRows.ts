import type { ErrorRow } from "../ErrorRow.ts"
import { withTableHidden } from "../OwnerFixtures.ts"

const token = "123456:AAE-a-token"

const refused = (
  when: string,
  json: unknown,
  code: string,
  more: Pick<ErrorRow, "during" | "fields"> & { readonly status?: number } = {}
): ErrorRow => ({
  when,
  route: "POST /api/provision",
  call: () => ({ json }),
  status: 400,
  code,
  ...more
})

const claim = (
  when: string,
  json: unknown,
  status: number,
  code: string,
  fields?: ReadonlyArray<string>
): ErrorRow => ({
  when,
  route: "POST /api/agents/claim",
  call: ({ newcomer }) => ({ as: newcomer, json }),
  status,
  code,
  ...(fields === undefined ? {} : { fields })
})

/** The limits and 502 are in ChannelProvisioning.test. */
export const provisioningRows: ReadonlyArray<ErrorRow> = [
  refused("nothing is given", {}, "channel_token_missing"),
  refused("every token is null", { platformAToken: null, platformBToken: null }, "channel_token_missing"),
  refused("only a user of platform A is given", { platformAUserId: "4711" }, "channel_token_missing"),
  refused("the token is blank", { platformAToken: " " }, "provisioning_field_invalid"),
  refused("the model key has a line break", { platformBToken: token, apiKey: "a\nb" }, "provisioning_field_invalid"),
  refused("the types are wrong", { platformAToken: 1, aiProvider: 2, plan: [] }, "invalid_request", {
    fields: ["platformAToken", "aiProvider", "plan"]
  }),
  refused("the provider is unknown", { platformAToken: token, aiProvider: "mistral" }, "invalid_request", {
    fields: ["aiProvider"]
  }),
  refused("the plan is not offered here", { platformAToken: token, plan: "solo" }, "invalid_request", {
    fields: ["plan"]
  }),
  refused("the database fails", { platformAToken: token }, "internal", {
    status: 500,
    during: withTableHidden("agents")
  }),
  {
    when: "nobody is signed in",
    route: "POST /api/agents/claim",
    call: () => ({ json: { code: "x" } }),
    status: 401,
    code: "unauthorized"
  },
  claim("the code is missing", {}, 400, "invalid_request", ["code"]),
  claim("the code is unknown", { code: "x" }, 404, "claim_code_unknown"),
  {
    when: "the caller has no internal key",
    listener: "backend",
    route: "POST /api/provision",
    call: () => ({ json: { platformAToken: token } }),
    status: 401,
    code: "internal_key_required"
  }
]
