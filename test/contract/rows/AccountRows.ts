import { type ErrorRow, registeredPassword } from "../ErrorRow.ts"
import { withVanishingUsers, withTableHidden } from "../OwnerFixtures.ts"

const refusedBy =
  (route: ErrorRow["route"]) =>
  (when: string, json: unknown, code: string, fields?: ReadonlyArray<string>): ErrorRow => ({
    when,
    route,
    call: () => ({ json }),
    status: 400,
    code,
    ...(fields === undefined ? {} : { fields })
  })

const register = refusedBy("POST /api/register")

const good = { email: "new@example.com", password: "correct horse battery" }

const registerRows: ReadonlyArray<ErrorRow> = [
  register("nothing is given", {}, "invalid_request", ["email", "password"]),
  register("the e-mail is missing", { password: good.password }, "invalid_request", ["email"]),
  register("the password is missing", { email: good.email }, "invalid_request", ["password"]),
  register("the types are wrong", { email: 1, password: [], name: {}, referralCode: 5 }, "invalid_request", [
    "email",
    "password",
    "name",
    "referralCode"
  ]),
  register("the e-mail is null", { ...good, email: null }, "invalid_request", ["email"]),
  register("the e-mail is none", { ...good, email: "nobody" }, "email_invalid"),
  register("the e-mail is empty", { ...good, email: "" }, "email_invalid"),
  register("the e-mail has no dot in its domain", { ...good, email: "a@b" }, "email_invalid"),
  register("the e-mail is of the wallets' domain", { ...good, email: "0xabc@wallet.localhost" }, "email_invalid"),
  register("the e-mail is too long", { ...good, email: `${"a".repeat(64)}@${"b.".repeat(150)}com` }, "email_invalid"),
  register("the password has 7 characters", { ...good, password: "1234567" }, "password_rejected"),
  register(
    "the password has 7 characters of two units each",
    { ...good, password: "😀".repeat(7) },
    "password_rejected"
  ),
  register("the password has more than 1,024 bytes", { ...good, password: "é".repeat(513) }, "password_rejected"),
  register("the password is one of the most common", { ...good, password: "PassWord" }, "password_rejected"),
  register("the name has a line break", { ...good, name: "a\nb" }, "display_name_invalid"),
  register("the name has 201 characters", { ...good, name: "n".repeat(201) }, "display_name_invalid"),
  register("the referral code has a space", { ...good, referralCode: "no code" }, "referral_code_invalid"),
  register("the referral code is blank", { ...good, referralCode: "   " }, "referral_code_invalid"),
  register("the referral code has 21 characters", { ...good, referralCode: "a".repeat(21) }, "referral_code_invalid"),
  register("the referral code is nobody's", { ...good, referralCode: "nobodys-code" }, "referral_code_invalid"),
  {
    when: "the e-mail is taken",
    route: "POST /api/register",
    call: ({ owner }) => ({ json: { ...good, email: owner.user.email } }),
    status: 409,
    code: "email_already_taken"
  },
  {
    when: "the e-mail is taken in another spelling",
    route: "POST /api/register",
    call: ({ owner }) => ({ json: { ...good, email: ` ${owner.user.email.toUpperCase()} ` } }),
    status: 409,
    code: "email_already_taken"
  }
]

const credentials = (when: string, json: unknown, status: number, code: string, fields?: ReadonlyArray<string>) =>
  ({
    when,
    route: "POST /api/auth/callback/credentials",
    call: () => ({ json }),
    status,
    code,
    ...(fields === undefined ? {} : { fields })
  }) satisfies ErrorRow

const signInRows: ReadonlyArray<ErrorRow> = [
  credentials("nothing is given", {}, 400, "invalid_request", ["email", "password"]),
  credentials("the password is missing", { email: good.email }, 400, "invalid_request", ["password"]),
  credentials("the types are wrong", { email: true, password: 12345678 }, 400, "invalid_request", [
    "email",
    "password"
  ]),
  credentials("nobody has the e-mail", { email: "nobody@example.com", password: "x" }, 401, "credentials_invalid"),
  credentials("the e-mail is none", { email: "nobody", password: "x" }, 401, "credentials_invalid"),
  credentials("the password is empty", { email: "nobody@example.com", password: "" }, 400, "invalid_request", [
    "password"
  ]),
  credentials("both are empty", { email: "", password: "" }, 400, "invalid_request", ["email", "password"]),
  {
    when: "a form lacks its password",
    route: "POST /api/auth/callback/credentials",
    call: () => ({ body: "email=a%40b.de", headers: { "content-type": "application/x-www-form-urlencoded" } }),
    status: 400,
    code: "invalid_request",
    fields: ["password"]
  },
  {
    when: "a form's password is empty",
    route: "POST /api/auth/callback/credentials",
    call: () => ({
      body: "email=a%40b.de&password=",
      headers: { "content-type": "application/x-www-form-urlencoded" }
    }),
    status: 400,
    code: "invalid_request",
    fields: ["password"]
  },
  {
    when: "a form's password is wrong",
    route: "POST /api/auth/callback/credentials",
    call: () => ({
      body: "email=a%40b.de&password=x",
      headers: { "content-type": "application/x-www-form-urlencoded" }
    }),
    status: 401,
    code: "credentials_invalid"
  }
]

const settings = (
  method: "POST" | "PATCH",
  when: string,
  json: unknown,
  status: number,
  code: string,
  more: Pick<ErrorRow, "during" | "fields"> = {}
): ErrorRow => ({
  when,
  route: `${method} /api/settings`,
  call: ({ owner }) => ({ as: owner, json }),
  status,
  code,
  ...more
})

const nobody = (route: ErrorRow["route"]): ErrorRow => ({
  when: "nobody is signed in",
  route,
  status: 401,
  code: "unauthorized"
})

const settingsRows: ReadonlyArray<ErrorRow> = [
  nobody("GET /api/settings"),
  nobody("POST /api/settings"),
  nobody("PATCH /api/settings"),
  {
    when: "the session is unknown",
    route: "GET /api/settings",
    call: ({ owner }) => ({ headers: { cookie: `${owner.cookie}x` } }),
    status: 401,
    code: "unauthorized"
  },
  settings("POST", "the e-mail is none", { email: "nobody" }, 400, "email_invalid"),
  settings("POST", "the name is blank", { name: " " }, 400, "display_name_invalid"),
  settings("POST", "the types are wrong", { name: 1, email: 2 }, 400, "invalid_request", { fields: ["name", "email"] }),
  settings("POST", "the user is gone", { name: "New" }, 404, "user_not_found", { during: withVanishingUsers }),
  {
    when: "the e-mail is another's",
    route: "POST /api/settings",
    call: ({ owner, stranger }) => ({ as: owner, json: { email: stranger.user.email.toUpperCase() } }),
    status: 409,
    code: "email_already_taken"
  },
  settings("PATCH", "the name is blank", { name: "" }, 400, "display_name_invalid"),
  settings("PATCH", "the types are wrong", { name: 1, notifications: { email: "yes" } }, 400, "invalid_request", {
    fields: ["name", "notifications.email"]
  }),
  settings("PATCH", "the user is gone", { name: "New" }, 404, "user_not_found", { during: withVanishingUsers })
]

const signedIn =
  (route: ErrorRow["route"]) =>
  (when: string, json: unknown, status: number, code: string, fields?: ReadonlyArray<string>): ErrorRow => ({
    when,
    route,
    call: ({ registered }) => ({ as: registered, json }),
    status,
    code,
    ...(fields === undefined ? {} : { fields })
  })

const change = signedIn("POST /api/settings/password")

const currentPassword = registeredPassword

const passwordRows: ReadonlyArray<ErrorRow> = [
  nobody("POST /api/settings/password"),
  change("nothing is given", {}, 400, "invalid_request", ["currentPassword", "newPassword"]),
  change("the new one is missing", { currentPassword }, 400, "invalid_request", ["newPassword"]),
  change("both are empty", { currentPassword: "", newPassword: "" }, 400, "invalid_request", [
    "currentPassword",
    "newPassword"
  ]),
  change("the types are wrong", { currentPassword: 1, newPassword: null }, 400, "invalid_request", [
    "currentPassword",
    "newPassword"
  ]),
  change("the new one has 7 characters", { currentPassword, newPassword: "1234567" }, 400, "password_rejected"),
  change(
    "the new one has more than 1,024 bytes",
    { currentPassword, newPassword: "é".repeat(513) },
    400,
    "password_rejected"
  ),
  change(
    "the new one is one of the most common",
    { currentPassword, newPassword: "Iloveyou" },
    400,
    "password_rejected"
  ),
  change(
    "the current one is wrong",
    { currentPassword: "wrong", newPassword: "another battery" },
    401,
    "current_password_incorrect"
  )
]

const tokenRows: ReadonlyArray<ErrorRow> = [
  { when: "nobody is signed in", route: "POST /api/auth/token", status: 401, code: "unauthorized" },
  {
    when: "an access token is shown in place of a session",
    route: "POST /api/auth/token",
    call: () => ({ headers: { authorization: "Bearer a.b.c" } }),
    status: 401,
    code: "unauthorized"
  }
]

const sessionRows: ReadonlyArray<ErrorRow> = [
  nobody("GET /api/auth/sessions"),
  nobody("DELETE /api/auth/sessions/:id"),
  {
    when: "there is no such session",
    route: "DELETE /api/auth/sessions/:id",
    call: ({ owner }) => ({ as: owner, path: "/api/auth/sessions/ses_0" }),
    status: 404,
    code: "sign_in_session_not_found"
  }
]

const createKey = signedIn("POST /api/keys")

const keyRows: ReadonlyArray<ErrorRow> = [
  nobody("GET /api/keys"),
  nobody("POST /api/keys"),
  nobody("DELETE /api/keys/:id"),
  createKey("nothing is given", {}, 400, "invalid_request", ["name", "scopes"]),
  createKey("the name is blank", { name: " ", scopes: ["chat"] }, 400, "invalid_request", ["name"]),
  createKey("there is no scope", { name: "n", scopes: [] }, 400, "invalid_request", ["scopes"]),
  createKey("the scope is unknown", { name: "n", scopes: ["root"] }, 400, "invalid_request", ["scopes.0"]),
  createKey(
    "the expiry is past",
    { name: "n", scopes: ["chat"], expiresAt: "2020-01-01T00:00:00Z" },
    400,
    "api_key_expiry_invalid"
  ),
  createKey("the scope is for administrators", { name: "n", scopes: ["admin"] }, 403, "admin_scope_not_allowed"),
  {
    when: "there is no such key",
    route: "DELETE /api/keys/:id",
    call: ({ owner }) => ({ as: owner, path: "/api/keys/key_0" }),
    status: 404,
    code: "api_key_not_found"
  }
]

const deletion = signedIn("DELETE /api/settings")

const deletionRows: ReadonlyArray<ErrorRow> = [
  nobody("DELETE /api/settings"),
  deletion("nothing is given", {}, 400, "account_deletion_unconfirmed"),
  deletion("the deletion is not confirmed", { confirm: false }, 400, "account_deletion_unconfirmed"),
  deletion("the password is wrong", { password: "wrong" }, 403, "deletion_password_incorrect"),
  deletion("the type is wrong", { password: 1, confirm: "yes" }, 400, "invalid_request", ["password", "confirm"]),
  {
    when: "an access token is shown in place of a session",
    route: "DELETE /api/settings",
    call: () => ({ headers: { authorization: "Bearer a.b.c" } }),
    status: 401,
    code: "unauthorized"
  }
]

const settle = signedIn("POST /api/settings/claim")

const forgot = refusedBy("POST /api/auth/forgot-password")

const reset = (when: string, json: unknown, code: string, fields?: ReadonlyArray<string>): ErrorRow => ({
  when,
  route: "POST /api/auth/reset-password",
  call: ({ resetToken }) => ({ json: { token: resetToken, password: good.password, ...Object(json) } }),
  status: 400,
  code,
  ...(fields === undefined ? {} : { fields })
})

const recoveryRows: ReadonlyArray<ErrorRow> = [
  forgot("nothing is given", {}, "invalid_request", ["email"]),
  forgot("the type is wrong", { email: ["a@example.com"] }, "invalid_request", ["email"]),
  forgot("the e-mail is empty", { email: "" }, "email_invalid"),
  forgot("the e-mail is none", { email: "nobody" }, "email_invalid"),
  forgot("there are two e-mails", { email: "a@example.com, b@example.com" }, "email_invalid"),
  forgot("the e-mail has a line break", { email: "a@example.com\r\nBcc: b@example.com" }, "email_invalid"),
  {
    when: "it cannot be written down",
    route: "POST /api/auth/forgot-password",
    call: ({ registered }) => ({ json: { email: registered.user.email } }),
    during: withTableHidden("outbox"),
    status: 500,
    code: "internal"
  },
  reset("the token is missing", { token: undefined }, "invalid_request", ["token"]),
  reset("the password is missing", { password: undefined }, "invalid_request", ["password"]),
  reset("the types are wrong", { token: 1, password: {} }, "invalid_request", ["token", "password"]),
  reset("the token is empty", { token: "" }, "reset_token_invalid"),
  reset("the token is nobody's", { token: "A".repeat(43) }, "reset_token_invalid"),
  reset("the password has 5 characters", { password: "12345" }, "password_rejected"),
  reset("the password has more than 1,024 bytes", { password: "é".repeat(513) }, "password_rejected"),
  reset("the password is one of the most common", { password: "Dragon" }, "password_rejected"),
  {
    when: "the user is gone",
    route: "POST /api/auth/reset-password",
    call: ({ resetToken }) => ({ json: { token: resetToken, password: good.password } }),
    during: withVanishingUsers,
    status: 404,
    code: "user_not_found"
  },
  nobody("POST /api/auth/verify-email"),
  nobody("GET /api/settings/referral"),
  nobody("GET /api/settings/claim"),
  nobody("POST /api/settings/claim"),
  settle("nothing is given", {}, 400, "invalid_request", ["decision"]),
  settle("the decision is unknown", { decision: "burn" }, 400, "invalid_request", ["decision"]),
  settle("the account was not claimed", { decision: "reset" }, 404, "claim_notice_not_found")
]

export const accountRows: ReadonlyArray<ErrorRow> = [
  ...registerRows,
  ...signInRows,
  ...tokenRows,
  ...sessionRows,
  ...keyRows,
  ...settingsRows,
  ...passwordRows,
  ...deletionRows,
  ...recoveryRows
]
