import { OAuthErrorCode } from "@berth/api/signin/oauth/OAuthApi"
import { SignInApi } from "@berth/api/signin/SignInApi"
import { WalletApi } from "@berth/api/signin/wallets/WalletApi"
import { findCheckoutError, findSignInError } from "@berth/server/pages/StatusMessages"
import { assert, describe, it } from "@effect/vitest"
import { FastCheck, type Schema, SchemaAST } from "effect"

const alternatives = (ast: SchemaAST.AST): ReadonlyArray<SchemaAST.AST> =>
  SchemaAST.isUnion(ast) ? ast.types.flatMap(alternatives) : [ast]

/** The codes of an endpoint's error bodies, as its contract declares them. */
const codesOf = (endpoint: { readonly errorSchema: Schema.Schema.All } | undefined): ReadonlyArray<string> =>
  (endpoint === undefined ? [] : alternatives(SchemaAST.encodedAST(endpoint.errorSchema.ast))).flatMap((body) =>
    SchemaAST.getPropertySignatures(body).flatMap(({ name, type }) =>
      name === "code" && SchemaAST.isLiteral(type) ? [String(type.literal)] : []
    )
  )

describe("Errors in an address", () => {
  it("Every error code of a sign-in has its own sentence on the page", () => {
    const codes = [
      ...OAuthErrorCode.literals,
      ...codesOf(SignInApi.endpoints.credentials),
      ...codesOf(WalletApi.endpoints.walletSignIn)
    ]
    assert.includeMembers(codes, ["oauth_state", "credentials_invalid", "wallet_sign_in_rejected", "chain_unreachable"])
    for (const code of codes) assert.notStrictEqual(findSignInError(code), findSignInError("not-a-code"), code)
  })

  it("Errors in an address are shown as sentences, without their code", () => {
    const code = FastCheck.oneof(
      FastCheck.string({ unit: "binary", minLength: 1 }),
      FastCheck.constantFrom("toString", "__proto__", "constructor", "oauth_not_configured", "canceled")
    )
    FastCheck.assert(
      FastCheck.property(code, (sample) => {
        for (const sentence of [findSignInError(sample), findCheckoutError(sample)])
          assert.match(sentence ?? "", /^[A-Z].{8,}\.$/)
      })
    )
  })

  it("An unknown error in an address is not shown", () => {
    for (const none of [null, ""]) assert.strictEqual(findSignInError(none), undefined)
  })
})
