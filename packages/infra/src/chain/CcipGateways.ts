import type { Context } from "effect"
import { Effect, Either, Option, Schema } from "effect"
import { type Hex, isHex } from "viem"
import type { OutboundClient } from "../net/OutboundClient.ts"

/** Limits of the off-chain lookups of a name (ERC-3668). */
const maximumRequests = 4
const requestLimits = { timeout: "3 seconds", maximumBytes: 256 * 1024 } as const
/** Maximum characters of a URL with its data. */
const maximumUrl = 32 * 1024

const Answer = Schema.parseJson(Schema.Struct({ data: Schema.String }))
const decodeAnswer = Schema.decodeUnknownOption(Answer)

interface Lookup {
  readonly data: Hex
  readonly sender: string
  readonly urls: ReadonlyArray<string>
}

const gatewayFailed = () => new Error("the CCIP gateway gave no answer")

const toRequest = ({ data, sender }: Lookup, template: string) => {
  const text = template.replace("{sender}", sender.toLowerCase()).replace("{data}", data)
  if (text.length > maximumUrl || !URL.canParse(text)) return Option.none()
  const url = new URL(text)
  if (url.protocol !== "https:" && url.protocol !== "http:") return Option.none()
  return Option.some(
    template.includes("{data}")
      ? { method: "GET" as const, url, headers: {}, ...requestLimits }
      : {
          method: "POST" as const,
          url,
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ data, sender }),
          ...requestLimits
        }
  )
}

/** Gateways of off-chain resolvers. Owners of names choose the URLs, so requests are guarded and limited. */
export const makeCcipGateways = (outbound: Context.Tag.Service<OutboundClient>) => {
  let requests = 0
  let hasFailed = false

  const ask = Effect.fnUntraced(function* (lookup: Lookup, template: string) {
    requests += 1
    if (requests > maximumRequests) return Option.none<Hex>()
    const request = toRequest(lookup, template)
    if (Option.isNone(request)) return Option.none<Hex>()
    const response = yield* Effect.either(outbound.send(request.value))
    return Either.getRight(response).pipe(
      Option.filter(({ isComplete, status }) => isComplete && status === 200),
      Option.flatMap(({ body }) => decodeAnswer(body.toString("utf8"))),
      Option.flatMap(({ data }) => (isHex(data) ? Option.some(data) : Option.none()))
    )
  })

  return {
    hasFailed: () => hasFailed,
    /** Returns the first successful response of the URLs in order. */
    request: async (lookup: Lookup): Promise<Hex> => {
      for (const template of lookup.urls.slice(0, maximumRequests)) {
        const answer = await Effect.runPromise(ask(lookup, template))
        if (Option.isSome(answer)) return answer.value
      }
      hasFailed = true
      throw gatewayFailed()
    }
  }
}
