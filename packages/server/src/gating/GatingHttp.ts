import { WebApi } from "@berth/api/WebApi"
import type { WalletAddress } from "@berth/domain/chain/WalletAddress"
import { TokenGate } from "@berth/domain/gating/TokenGate"
import { DateTime, Effect } from "effect"
import { group } from "../http/ApiGroup.ts"

const describeAccess = (hasAccess: boolean, symbol: string) =>
  hasAccess ? `This address holds enough ${symbol}.` : `This address does not hold enough ${symbol}.`

export const layer = group(WebApi, "gating", (handlers) =>
  Effect.map(TokenGate, (gate) => {
    const readGate = (address: WalletAddress) =>
      Effect.map(gate.check(address), ({ hasAccess, rpcEndpoint, token }) => ({
        token,
        rpcEndpoint,
        fields: {
          address,
          hasAccess,
          tokenGated: true,
          minBalance: token.minBalance.toString(),
          token: token.symbol,
          chain: token.chain
        }
      }))

    return handlers
      .handle("check", ({ payload: { address, fid } }) =>
        Effect.gen(function* () {
          const { fields } = yield* readGate(address)
          const message = describeAccess(fields.hasAccess, fields.token)
          return { fid, ...fields, message, timestamp: yield* DateTime.now }
        })
      )
      .handle("lookUp", ({ urlParams: { address } }) =>
        Effect.map(readGate(address), ({ fields, rpcEndpoint, token }) => ({
          ...fields,
          contractAddress: token.address,
          rpcEndpoint
        }))
      )
  })
)
