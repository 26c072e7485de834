import type { CdpSettings } from "@berth/infra/cdp/CdpDeveloperWallets"
import { parseApiKeySecret, parseWalletSecret } from "@berth/infra/cdp/CdpKeys"
import { Effect, Either, Redacted, type Scope } from "effect"
import { jwtVerify } from "jose"
import { createHash, createPublicKey, generateKeyPairSync, type KeyObject } from "node:crypto"
import { createServer, type IncomingMessage } from "node:http"
import { text } from "node:stream/consumers"
import { generatePrivateKey, privateKeyToAddress } from "viem/accounts"
import { parseJsonObject } from "../../support/HttpCall.ts"
import { listenLocally } from "../../support/LocalServer.ts"

/** Outcome of a call after its authentication. */
type CdpBehavior = "answer" | "lose the answer" | "fail before the effect" | "limit"

interface FakeCdp {
  readonly settings: CdpSettings
  /** The secrets in the vendor's format. */
  readonly secrets: { readonly apiKeyId: string; readonly apiKeySecret: string; readonly walletSecret: string }
  /** Accounts by name. */
  readonly accounts: ReadonlyMap<string, string>
  /** The idempotency keys of authenticated creations. */
  readonly idempotencyKeys: ReadonlyArray<string>
  /** Reasons of rejected calls. */
  readonly refusals: ReadonlyArray<string>
  /** Behavior of the next calls, in order; later calls succeed. */
  readonly behave: (...next: ReadonlyArray<CdpBehavior>) => Effect.Effect<void>
}

interface Answer {
  readonly status: number
  readonly body: unknown
}

const refuse = (status: number, errorType: string, errorMessage: string): Answer => ({
  status,
  body: { errorType, errorMessage, correlationId: "8d2d9ee1" }
})

const apiKeyId = "organizations-1-apiKeys-2"
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const accountName = /^(?!-)[A-Za-z0-9-]{2,36}(?<!-)$/

export const makeEd25519Secret = (): { readonly secret: string; readonly publicKey: KeyObject } => {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519")
  const { d = "", x = "" } = privateKey.export({ format: "jwk" })
  const bytes = Buffer.concat([Buffer.from(d, "base64url"), Buffer.from(x, "base64url")])
  return { secret: bytes.toString("base64"), publicKey }
}

/** The EVM accounts of the CDP API v2. It verifies signatures, URIs, times, body hashes and idempotency keys. */
export const makeFakeCdp: Effect.Effect<FakeCdp, never, Scope.Scope> = Effect.gen(function* () {
  const apiKey = makeEd25519Secret()
  const walletSecret = generateKeyPairSync("ec", { namedCurve: "P-256" })
    .privateKey.export({ format: "der", type: "pkcs8" })
    .toString("base64")
  const walletKey = Either.getOrThrow(parseWalletSecret(Redacted.make(walletSecret)))
  const walletPublicKey = createPublicKey(walletKey.key)

  const accounts = new Map<string, string>()
  const idempotencyKeys: Array<string> = []
  const refusals: Array<string> = []
  const answered = new Map<string, { readonly body: string; readonly answer: Answer }>()
  const usedTokens = new Set<string>()
  const behaviors: Array<CdpBehavior> = []

  const verifyBearer = async (request: IncomingMessage, uri: string): Promise<string | undefined> => {
    const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? "")?.[1]
    if (token === undefined) return "no bearer token"
    const { payload, protectedHeader } = await jwtVerify(token, apiKey.publicKey, {
      algorithms: ["EdDSA"],
      issuer: "cdp",
      subject: apiKeyId,
      requiredClaims: ["exp", "nbf", "iat", "uris"]
    })
    if (protectedHeader.kid !== apiKeyId || protectedHeader["nonce"] === undefined) return "bearer: wrong header"
    if ((payload.exp ?? 0) - (payload.nbf ?? 0) > 120) return "bearer: lives too long"
    if (JSON.stringify(payload["uris"]) !== JSON.stringify([uri])) return `bearer: not for ${uri}`
    return undefined
  }

  const verifyWalletToken = async (
    request: IncomingMessage,
    uri: string,
    body: string
  ): Promise<string | undefined> => {
    const token = request.headers["x-wallet-auth"]
    if (typeof token !== "string") return "no wallet token"
    const { payload } = await jwtVerify(token, walletPublicKey, {
      algorithms: ["ES256"],
      maxTokenAge: 60,
      requiredClaims: ["iat", "nbf", "jti", "uris", "reqHash"]
    })
    if (JSON.stringify(payload["uris"]) !== JSON.stringify([uri])) return `wallet token: not for ${uri}`
    if (payload["reqHash"] !== createHash("sha256").update(body).digest("hex")) return "wallet token: wrong body hash"
    if (usedTokens.has(payload.jti ?? "")) return "wallet token: used again"
    usedTokens.add(payload.jti ?? "")
    return undefined
  }

  const create = (request: IncomingMessage, body: string): Answer => {
    const key = request.headers["x-idempotency-key"]
    if (typeof key !== "string" || !uuid.test(key)) return refuse(400, "invalid_request", "idempotency key: no UUID")
    idempotencyKeys.push(key)
    const known = answered.get(key)
    if (known !== undefined)
      return known.body === body ? known.answer : refuse(422, "idempotency_error", "another request body")
    const { name }: Readonly<Record<string, unknown>> = parseJsonObject(body)
    if (typeof name !== "string" || !accountName.test(name)) return refuse(400, "invalid_request", "name: not allowed")
    if (accounts.has(name)) return refuse(409, "already_exists", "EVM account with the given name already exists.")
    const address = privateKeyToAddress(generatePrivateKey())
    accounts.set(name, address)
    const answer = { status: 201, body: { address, name, policies: [] } }
    answered.set(key, { body, answer })
    return answer
  }

  const find = (name: string): Answer => {
    const address = accounts.get(name)
    return address === undefined
      ? refuse(404, "not_found", "No such account.")
      : { status: 200, body: { address, name, policies: [] } }
  }

  const answer = async (request: IncomingMessage): Promise<Answer | "none"> => {
    const body = await text(request)
    const path = request.url ?? ""
    const uri = `${request.method} ${request.headers.host}${path}`
    const isPost = request.method === "POST"
    const fault =
      (await verifyBearer(request, uri)) ?? (isPost ? await verifyWalletToken(request, uri, body) : undefined)
    if (fault !== undefined) {
      refusals.push(fault)
      return refuse(401, "unauthorized", fault)
    }
    const behavior = behaviors.shift() ?? "answer"
    if (behavior === "fail before the effect") return refuse(500, "internal_server_error", "secret of the vendor")
    if (behavior === "limit") return refuse(429, "rate_limit_exceeded", "secret of the vendor")
    const name = /^\/platform\/v2\/evm\/accounts\/by-name\/([^/]+)$/.exec(path)?.[1]
    const done =
      isPost && path === "/platform/v2/evm/accounts"
        ? create(request, body)
        : name === undefined || isPost
          ? refuse(404, "not_found", "no such route")
          : find(name)
    return behavior === "lose the answer" ? "none" : done
  }

  const server = createServer((request, response) => {
    void answer(request)
      .catch((cause: unknown) => {
        refusals.push(String(cause))
        return refuse(401, "unauthorized", String(cause))
      })
      .then((done) => {
        if (done === "none") response.destroy()
        else response.writeHead(done.status, { "content-type": "application/json" }).end(JSON.stringify(done.body))
      })
  })
  const { origin } = yield* listenLocally(server)
  return {
    settings: {
      apiUrl: new URL(`${origin}/platform`),
      projectId: "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0",
      apiKeyId,
      apiKey: Either.getOrThrow(parseApiKeySecret(Redacted.make(apiKey.secret))),
      walletKey
    },
    secrets: { apiKeyId, apiKeySecret: apiKey.secret, walletSecret },
    accounts,
    idempotencyKeys,
    refusals,
    behave: (...next) => Effect.sync(() => void behaviors.push(...next))
  }
})
