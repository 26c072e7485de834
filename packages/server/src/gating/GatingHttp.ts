import { WebApi } from "@berth/api/WebApi"
import type { WalletAddress } from "@berth/domain/chain/WalletAddress"
import { TokenGate } from "@berth/domain/gating/TokenGate"
import { HttpApiBuilder } from "@effect/platform"
import { DateTime, Effect } from "effect"

const messageOf = (hasAccess: boolean, symbol: string) =>
  hasAccess ? `This address holds enough ${symbol}.` : `This address does not hold enough ${symbol}.`

export const layer = HttpApiBuilder.group(WebApi, "gating", (handlers) =>
  Effect.map(TokenGate, (gate) => {
    const verdictOn = (address: WalletAddress) =>
      Effect.map(gate.check(address), ({ hasAccess, rpcEndpoint, token }) => ({
        token,
        rpcEndpoint,
        verdict: {
          address,
          hasAccess,
          tokenGated: true,
          minBalance: token.minBalance.toString(),
          token: token.symbol,
          chain: token.chain
        }
      }))

    return handlers
      .handle("checkGate", ({ payload: { address, fid } }) =>
        Effect.gen(function* () {
          const { verdict } = yield* verdictOn(address)
          const message = messageOf(verdict.hasAccess, verdict.token)
          return { fid, ...verdict, message, timestamp: yield* DateTime.now }
        })
      )
      .handle("lookAtGate", ({ urlParams: { address } }) =>
        Effect.map(verdictOn(address), ({ rpcEndpoint, token, verdict }) => ({
          ...verdict,
          contractAddress: token.address,
          rpcEndpoint
        }))
      )
  })
)
