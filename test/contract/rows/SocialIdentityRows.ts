import { withTableHidden } from "../OwnerFixtures.ts"
import type { ErrorRow } from "../ErrorRow.ts"

const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url")
/** Well-formed, with an unknown key id. */
const unknownKey = [part({ alg: "RS256", kid: "k" }), part({ sub: "7" }), "c2ln"].join(".")

const verify = (when: string, json: unknown, status = 401, code = "social_token_rejected"): ErrorRow => ({
  when,
  route: "POST /api/auth/socialIdentity/verify",
  call: () => ({ json }),
  status,
  code
})

const refresh = (when: string, json: unknown, status: number, code: string): ErrorRow => ({
  when,
  route: "POST /api/auth/socialIdentity/refresh",
  call: () => ({ json }),
  status,
  code,
  ...(status === 400 ? { fields: ["refreshToken"] } : {})
})

export const socialIdentityRows: ReadonlyArray<ErrorRow> = [
  verify("nothing is given", {}),
  verify("the ID token is null", { fidToken: null }),
  verify("the ID token is empty", { fidToken: "" }),
  verify("the ID token is no text", { fidToken: { text: unknownKey } }),
  verify("the ID token is none", { fidToken: "let me in" }),
  verify("the ID token is missing and the address is none", { address: 5 }),
  verify("keys unavailable", { fidToken: unknownKey }, 500, "social_identity_unavailable"),
  refresh("nothing is given", {}, 400, "invalid_request"),
  refresh("the token is null", { refreshToken: null }, 400, "invalid_request"),
  refresh("the token is no text", { refreshToken: 7 }, 400, "invalid_request"),
  refresh("the token is empty", { refreshToken: "" }, 400, "invalid_request"),
  refresh("the token is nobody's", { refreshToken: `${"A".repeat(43)}=` }, 401, "refresh_token_invalid"),
  {
    ...refresh("it cannot be looked up", { refreshToken: `${"A".repeat(43)}=` }, 500, "internal"),
    during: withTableHidden("social_tokens")
  }
]
