import { makeChallengeBody, formatChallengeHeader } from "@berth/api/gateway/payments/ChallengeMessage"
import type { MachinePayments } from "@berth/domain/gateway/payments/MachinePayments"
import { formatReceiptHeader } from "@berth/api/gateway/payments/PaymentReceiptHeader"
import { Effect, type Scope } from "effect"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { buffer } from "node:stream/consumers"
import { paidAnswer, paidRequest } from "./PaymentFixtures.ts"
import { listenLocally } from "../LocalServer.ts"

/** An HTTP server whose every call requires payment. Returns its address. */
export const startPaidServer = (payments: MachinePayments): Effect.Effect<string, never, Scope.Scope> => {
  const reply = (response: ServerResponse, status: number, headers: Record<string, string>, body: object) =>
    Effect.sync(() => {
      response.writeHead(status, { "content-type": "application/json", ...headers })
      response.end(JSON.stringify(body))
    })

  const answer = (request: IncomingMessage, response: ServerResponse) =>
    Effect.gen(function* () {
      const body = yield* Effect.promise(() => buffer(request))
      const { authorization } = request.headers
      const redeemed = yield* payments.redeem(authorization === undefined ? [] : [authorization], {
        ...paidRequest,
        body
      })
      switch (redeemed._tag) {
        case "Unpaid": {
          const challengeBody = makeChallengeBody(redeemed.challenge, redeemed.failure)
          const header = { "www-authenticate": formatChallengeHeader(redeemed.challenge), "cache-control": "no-store" }
          return yield* reply(response, challengeBody.status, header, challengeBody)
        }
        case "Answered": {
          const header = { "payment-receipt": formatReceiptHeader(redeemed.receipt), "cache-control": "private" }
          return yield* reply(response, 200, header, { receipt: redeemed.receipt.transactionHash })
        }
        case "InProgress":
          return yield* reply(response, 409, {}, { error: "in_progress" })
        case "Paid": {
          const isOurs = yield* payments.complete(redeemed.claim, paidAnswer)
          if (!isOurs) return yield* reply(response, 409, {}, { error: "in_progress" })
          const header = { "payment-receipt": formatReceiptHeader(redeemed.receipt), "cache-control": "private" }
          return yield* reply(response, 200, header, { receipt: redeemed.receipt.transactionHash })
        }
      }
    }).pipe(Effect.catchAll(({ _tag }) => reply(response, 503, {}, { error: _tag })))

  const server = createServer((request, response) => {
    void Effect.runPromise(answer(request, response))
  })
  return Effect.map(listenLocally(server), ({ origin }) => origin)
}
