import { TokenContractNotFound } from "@berth/domain/chain/Chain"
import { type BalanceQuery, TokenBalances } from "@berth/domain/chain/TokenBalances"
import { Effect, Layer, Option } from "effect"
import { AbiDecodingDataSizeTooSmallError, type BaseError, ContractFunctionZeroDataError, erc20Abi } from "viem"
import { readContract } from "viem/actions"
import { type ChainNode, isExecutionFailure, toViemAddress } from "./ChainNode.ts"

/** The node responded, but the contract is not an ERC-20 token. */
const isNotToken = (error: BaseError): boolean =>
  isExecutionFailure(error) ||
  error.walk(
    (cause) => cause instanceof ContractFunctionZeroDataError || cause instanceof AbiDecodingDataSizeTooSmallError
  ) !== null

export const layer = (node: ChainNode): Layer.Layer<TokenBalances> =>
  Layer.succeed(TokenBalances, {
    balanceOf: Effect.fn("TokenBalances.balanceOf")(function* ({ holder, token }: BalanceQuery) {
      const answer = yield* node.call(
        (client) =>
          readContract(client, {
            abi: erc20Abi,
            functionName: "balanceOf",
            address: toViemAddress(token),
            args: [toViemAddress(holder)]
          }).then(Option.some),
        (error) => (isNotToken(error) ? Option.none() : undefined)
      )
      return yield* Effect.mapError(answer, () => new TokenContractNotFound())
    })
  })
